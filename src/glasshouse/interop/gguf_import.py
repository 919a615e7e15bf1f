"""Import a GGUF file of a Llama or GPT-2 model, quantised or not. Knows nothing of the file's layout."""

from pathlib import Path
from typing import Any

from glasshouse.formatting import with_article
from glasshouse.interop import gguf_tokenizers, imported_model, weight_mapping
from glasshouse.interop.gguf_architectures import ARCHITECTURES, GPT2, LLAMA, GGUFArchitecture
from glasshouse.interop.gguf_file import GGUF
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.interop.weight_mapping import Tensors
from glasshouse.records.progress_bar import say
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec


def read(path: Path) -> ImportedModel:
    """The model of a file and its tokenizer. A tokenizer that is not supported is left out, and a message says why."""
    file = GGUF(path)
    name = _value(file, "general.architecture", str)
    if name not in ARCHITECTURES:
        raise CannotImport(
            f"{path} has the architecture {name!r}, which is not supported; supported: {', '.join(ARCHITECTURES)}"
        )
    architecture = ARCHITECTURES[name]
    if "rope_freqs.weight" in file.tensors:
        raise CannotImport(
            f"{path} scales its rotary frequencies with the tensor 'rope_freqs.weight', which is not supported; "
            "choose a model without scaled rotary positions"
        )
    theirs = {tensor: file.tensor(tensor) for tensor in file.tensors}
    if "token_embd.weight" not in theirs or theirs["token_embd.weight"].dim() != 2:
        raise CannotImport(f"{path} lacks the token embedding, a matrix 'token_embd.weight'; download or export it again")
    model, key_value_heads = _model_spec(file, architecture, theirs)
    if model.layers > len(theirs):
        raise CannotImport(
            f"{path} has {model.layers} blocks according to its metadata, but only {len(theirs)} tensors; "
            "download or export it again"
        )
    context, vocabulary = _size(file, f"{name}.context_length"), theirs["token_embd.weight"].shape[0]
    imported_model.check_spec(model, context, str(path))
    shapes = imported_model.tensor_shapes(model, vocabulary, context)
    mappings = [mapping for mapping in architecture.weight_mappings(model, key_value_heads) if mapping.ours in shapes]
    ignored = () if model.bias or architecture is not GPT2 else ("*.bias",)
    tokenizer = None
    try:
        tokenizer = gguf_tokenizers.read(file.metadata, str(path))
    except gguf_tokenizers.UnsupportedGGUFTokenizer as reason:
        say(f"{path} is imported without a tokenizer: {reason}")
    return ImportedModel(
        model=model,
        context=context,
        vocabulary=vocabulary,
        tensors=weight_mapping.import_tensors(mappings, theirs, shapes, ignored=ignored, where=str(path)),
        tokenizer=tokenizer,
        origin=f"GGUF file {path.name}",
        token_ids=gguf_tokenizers.read_token_ids(file.metadata) if tokenizer else {},
    )


def _model_spec(file: GGUF, architecture: GGUFArchitecture, theirs: Tensors) -> tuple[ModelSpec, int]:
    """The spec of the model and its number of key-value heads."""
    name = architecture.name
    width, heads = _size(file, f"{name}.embedding_length"), _size(file, f"{name}.attention.head_count")
    key_value_heads = _size(file, f"{name}.attention.head_count_kv", heads)
    fixed = {field: supported[0] for field, supported in architecture.fixed_fields.items() if "." not in field}
    # An export writes a GPT-2 without biases with biases of zero, so biases that are all zero mean that there are none.
    biased = any(bool(tensor.any()) for tensor_name, tensor in theirs.items() if tensor_name.endswith(".bias"))
    fields: dict[str, Any] = {
        **fixed,
        "width": width,
        "layers": _size(file, f"{name}.block_count"),
        "heads": heads,
        "feed_forward": _size(file, f"{name}.feed_forward_length"),
        # GGUF stores it in float32; rounding restores the decimal number.
        "epsilon": float(f"{_value(file, f'{name}.{architecture.epsilon_key}', float):.6g}"),
        "tied": "output.weight" not in theirs,
        "bias": architecture is GPT2 and biased,
    }
    if architecture is LLAMA:
        base, head_width = _rotary_base_and_head_width(file, width, heads)
        fields |= {"head_width": head_width, "own": {"rotary_base": base}}
        if key_value_heads < heads:
            fields |= {"attention": "grouped-query", "own": {"rotary_base": base, "key_value_heads": key_value_heads}}
    elif width % heads or key_value_heads != heads:
        raise CannotImport(
            f"{file.path}: a 'gpt2' with width {width}, {heads} heads and {key_value_heads} key-value heads is not "
            "supported; the heads must divide the width, and both numbers of heads must be equal"
        )
    return ModelSpec(**fields), key_value_heads


def _rotary_base_and_head_width(file: GGUF, width: int, heads: int) -> tuple[float, int]:
    """The rotary base and the head width of a Llama; 0 means width / heads. Scaled rotary positions are an error."""
    scaling = file.metadata.get("llama.rope.scaling.type", "none")
    factor = file.metadata.get("llama.rope.scaling.factor", file.metadata.get("llama.rope.scale_linear", 1.0))
    if scaling not in ("none", "linear") or factor not in (0, 1):
        raise CannotImport(
            f"{file.path} scales its rotary positions (llama.rope.scaling.type={scaling!r}, factor {factor}), which is not "
            "supported; choose a model without scaled rotary positions"
        )
    if experts := file.metadata.get("llama.expert_count", 0):
        raise CannotImport(f"{file.path} is a mixture of {experts} experts, which is not supported; choose a dense model")
    head_width = _size(file, "llama.attention.key_length", width // heads)
    for key in ("attention.value_length", "rope.dimension_count"):
        if (size := _size(file, f"llama.{key}", head_width)) != head_width:
            raise CannotImport(
                f"{file.path} has llama.{key}={size} and heads of width {head_width}, which is not supported; "
                "both must be equal"
            )
    base = float(f"{_value(file, 'llama.rope.freq_base', float, 10000.0):.7g}")
    return base, 0 if head_width * heads == width else head_width


def _size(file: GGUF, key: str, default: int | None = None) -> int:
    """A positive number from the metadata. Some files store one number for every layer; all must be equal."""
    value = file.metadata.get(key, default)
    if isinstance(value, list) and value and len(set(value)) == 1:
        value = value[0]
    if value is None:
        raise _missing(file, key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CannotImport(
            f"{file.path} has {key}={value!r} instead of one whole number above 0; download or export it again"
        )
    return value


def _value(file: GGUF, key: str, expected: type, default: Any = None) -> Any:
    value = file.metadata.get(key, default)
    if value is None:
        raise _missing(file, key)
    if not isinstance(value, (expected, int) if expected is float else expected):
        raise CannotImport(
            f"{file.path} has {key}={value!r} instead of {with_article(expected.__name__)}; download or export it again"
        )
    return value


def _missing(file: GGUF, key: str) -> CannotImport:
    return CannotImport(f"{file.path} lacks the metadata key {key!r}, which is needed to build the model; export it again")
