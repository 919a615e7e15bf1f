"""Import a GGUF file of a Llama or GPT-2 model, quantised or not. Knows nothing of the file's layout."""

from pathlib import Path

from glasshouse.interop import gguf_tokenizers, imported_model
from glasshouse.interop.gguf_architectures import ARCHITECTURES
from glasshouse.interop.gguf_file import GGUF
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.records.progress_bar import say
from glasshouse.specs.errors import CannotImport, GlasshouseError


def read(path: Path) -> ImportedModel:
    """The model of a file and its tokenizer. A tokenizer that is not supported is left out, and a message says why."""
    file = GGUF(path)
    name = str(file.metadata.get("general.architecture"))
    if name not in ARCHITECTURES:
        raise CannotImport(
            f"{path} has the architecture {name!r}, which is not supported; supported: {', '.join(ARCHITECTURES)}"
        )
    if "rope_freqs.weight" in file.tensors:
        raise CannotImport(
            f"{path} scales its rotary frequencies with the tensor 'rope_freqs.weight', which is not supported; "
            "choose a model without scaled rotary positions"
        )
    theirs = {tensor: file.tensor(tensor) for tensor in file.tensors}
    if "token_embd.weight" not in theirs or theirs["token_embd.weight"].dim() != 2:
        raise CannotImport(f"{path} lacks the token embedding, a matrix 'token_embd.weight'; download or export it again")
    try:
        values = ARCHITECTURES[name].read_config(
            {**file.metadata, f"{name}.vocab_size": theirs["token_embd.weight"].shape[0]}
        )
    except GlasshouseError as error:
        raise CannotImport(f"{path}: {error}") from None
    values["tied"] = "output.weight" not in theirs
    # An export writes a GPT-2 without biases with biases of zero, so biases that are all zero mean that there are none.
    if values.get("bias") and not any(theirs[tensor].any() for tensor in theirs if tensor.endswith(".bias")):
        values["bias"] = False
        theirs = {tensor: numbers for tensor, numbers in theirs.items() if not tensor.endswith(".bias")}
    tokenizer = None
    try:
        tokenizer = gguf_tokenizers.read(file.metadata, str(path))
    except gguf_tokenizers.UnsupportedGGUFTokenizer as reason:
        say(f"{path} is imported without a tokenizer: {reason}")
    return imported_model.build(
        ARCHITECTURES[name],
        values,
        theirs,
        str(path),
        tokenizer=tokenizer,
        origin=f"GGUF file {path.name}",
        token_ids=gguf_tokenizers.read_token_ids(file.metadata) if tokenizer else {},
    )
