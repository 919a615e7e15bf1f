"""A GGUF file of a Llama or a GPT-2, plain or quantised, into a model of ours; knows nothing of how the file is laid out."""

from pathlib import Path
from typing import Any

from glasshouse.interop import gguf_tokenizers, imported_model, weight_tables
from glasshouse.interop.gguf_architectures import ARCHITECTURES, GPT2, LLAMA, GGUFArchitecture
from glasshouse.interop.gguf_file import GGUF
from glasshouse.interop.imported_model import Imported
from glasshouse.interop.weight_tables import Tensors
from glasshouse.records.progress_bar import say
from glasshouse.specs.errors import CannotImport
from glasshouse.specs.spec import ModelSpec


def read(path: Path) -> Imported:
    """The model of a file, with its tokenizer where that is of a kind that is known here; else a line says why not."""
    file = GGUF(path)
    name = _fact(file, "general.architecture", str)
    if name not in ARCHITECTURES:
        raise CannotImport(
            "unsupported-architecture",
            f"{path} holds a model of the architecture {name!r}; those that can be read are {', '.join(ARCHITECTURES)}",
        )
    architecture = ARCHITECTURES[name]
    if "rope_freqs.weight" in file.tensors:
        raise CannotImport(
            "unsupported-config", f"{path} scales its rotary frequencies by 'rope_freqs.weight', which is not supported here"
        )
    theirs = {tensor: file.tensor(tensor) for tensor in file.tensors}
    if "token_embd.weight" not in theirs or theirs["token_embd.weight"].dim() != 2:
        raise CannotImport("missing-tensor", f"{path} lacks the tensor 'token_embd.weight', a row for each token")
    model, groups = _model(file, architecture, theirs)
    if model.layers > len(theirs):
        raise CannotImport(
            "sizes-do-not-fit", f"{path} has {model.layers} blocks by its facts, and only {len(theirs)} tensors"
        )
    context, vocabulary = _size(file, f"{name}.context_length"), theirs["token_embd.weight"].shape[0]
    imported_model.check(model, context, str(path))
    shapes = imported_model.shapes(model, vocabulary, context)
    rows = [row for row in architecture.rows(model, groups) if row.ours in shapes]
    ignored = () if model.bias or architecture is not GPT2 else ("*.bias",)
    document = None
    try:
        document = gguf_tokenizers.read(file.facts, str(path))
    except gguf_tokenizers.NoTokenizer as reason:
        say(f"{path} is read without a tokenizer: {reason}")
    return Imported(
        model=model,
        context=context,
        vocabulary=vocabulary,
        tensors=weight_tables.load(rows, theirs, shapes, ignored=ignored, where=str(path)),
        tokenizer=document,
        origin=f"GGUF file {path.name}",
        token_ids=gguf_tokenizers.roles(file.facts) if document else {},
    )


def _model(file: GGUF, architecture: GGUFArchitecture, theirs: Tensors) -> tuple[ModelSpec, int]:
    """The spec of the model, and how many heads of keys and values it has."""
    name = architecture.name
    width, heads = _size(file, f"{name}.embedding_length"), _size(file, f"{name}.attention.head_count")
    groups = _size(file, f"{name}.attention.head_count_kv", heads)
    parts = {field: fitting[0] for field, fitting in architecture.parts.items() if "." not in field}
    # GGUF asks a GPT-2 for biases, so one without any is written with zeros; it comes back as it was.
    biased = any(bool(tensor.any()) for tensor_name, tensor in theirs.items() if tensor_name.endswith(".bias"))
    settings: dict[str, Any] = {
        **parts,
        "width": width,
        "layers": _size(file, f"{name}.block_count"),
        "heads": heads,
        "feed_forward": _size(file, f"{name}.feed_forward_length"),
        "epsilon": float(f"{_fact(file, f'{name}.{architecture.epsilon}', float):.6g}"),
        "tied": "output.weight" not in theirs,
        "bias": architecture is GPT2 and biased,
    }
    if architecture is LLAMA:
        base, head_width = _rotary(file, width, heads)
        settings |= {"head_width": head_width, "own": {"rotary_base": base}}
        if groups < heads:
            settings |= {"attention": "grouped-query", "own": {"rotary_base": base, "key_value_heads": groups}}
    elif width % heads or groups != heads:
        raise CannotImport(
            "unsupported-config",
            f"{file.path}: 'gpt2' with a width of {width}, {heads} heads and {groups} of keys is not read",
        )
    return ModelSpec(**settings), groups


def _rotary(file: GGUF, width: int, heads: int) -> tuple[float, int]:
    """The rotary base and the head width of a Llama. Frequencies that are scaled for longer texts are refused."""
    scaling = file.facts.get("llama.rope.scaling.type", "none")
    factor = file.facts.get("llama.rope.scaling.factor", file.facts.get("llama.rope.scale_linear", 1.0))
    if scaling not in ("none", "linear") or factor not in (0, 1):
        raise CannotImport(
            "unsupported-config",
            f"{file.path} scales its rotary positions (llama.rope.scaling.type={scaling!r}, factor {factor}), which is not "
            "supported here",
        )
    if experts := file.facts.get("llama.expert_count", 0):
        raise CannotImport(
            "unsupported-config", f"{file.path} is a mixture of {experts} experts, which is not supported here"
        )
    plain = width // heads
    head_width = _size(file, "llama.attention.key_length", plain)
    for what in ("attention.value_length", "rope.dimension_count"):
        if (size := _size(file, f"llama.{what}", head_width)) != head_width:
            raise CannotImport(
                "unsupported-config",
                f"{file.path} has llama.{what}={size} beside heads of {head_width}, which is not supported here",
            )
    base = float(f"{_fact(file, 'llama.rope.freq_base', float, 10000.0):.7g}")
    return base, 0 if head_width * heads == width else head_width


def _size(file: GGUF, name: str, otherwise: int | None = None) -> int:
    """A size above zero. Some files give one for each layer, which must then be the same."""
    value = file.facts.get(name, otherwise)
    if isinstance(value, list) and value and len(set(value)) == 1:
        value = value[0]
    if value is None:
        raise CannotImport("missing-fact", f"{file.path} lacks the fact {name!r}, without which its model cannot be built")
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CannotImport("bad-fact", f"{file.path} has {name}={value!r}, where one number above 0 is expected")
    return value


def _fact(file: GGUF, name: str, kind: type, otherwise: Any = None) -> Any:
    value = file.facts.get(name, otherwise)
    if value is None:
        raise CannotImport("missing-fact", f"{file.path} lacks the fact {name!r}, without which its model cannot be built")
    if not isinstance(value, (kind, int) if kind is float else kind):
        raise CannotImport("bad-fact", f"{file.path} has {name}={value!r}, where {kind.__name__} is expected")
    return value
