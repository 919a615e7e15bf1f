"""Hugging Face's model folders, read and written: config.json, safetensors, tokenizer.json. Knows no architecture.

Nothing is ever unpickled, and no code that a folder brings is run.
"""

import json
import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from glasshouse.interop import imported_model, weight_tables
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.canonical_spec import canonical
from glasshouse.interop.architectures.config_fields import Values, values_of, with_values
from glasshouse.interop.imported_model import Imported
from glasshouse.interop.weight_tables import Tensors
from glasshouse.records import atomic_files, checkpoint
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, CannotImport, GlasshouseError, MissingExtra
from glasshouse.specs.spec import ModelSpec

CONFIG, WEIGHTS, INDEX, TOKENIZER = "config.json", "model.safetensors", "model.safetensors.index.json", "tokenizer.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
# What tokenizers call the tokens of each role, for those whose ids a config does not name.
TOKEN_NAMES = {
    "bos": ("<|endoftext|>", "<s>"),
    "eos": ("<|endoftext|>", "</s>"),
    "unk": ("<unk>", "[UNK]"),
    "pad": ("<pad>", "[PAD]"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("<mask>", "[MASK]"),
}


def resolve(name_or_path: str | PathLike[str]) -> Path:
    """The folder at a path or, where there is none, of that name on the hub, from which it is then fetched."""
    path, name = Path(name_or_path), str(name_or_path)
    if path.exists():
        return path
    if not re.fullmatch(r"([A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", name):
        raise CannotImport(
            "unknown-model", f"there is no folder {name!r}, and it is not a name on the Hugging Face hub (owner/name)"
        )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra(
            "huggingface_hub", f"there is no folder {name!r} here, and fetching a model of that name"
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors"]))
    except Exception as error:  # whatever the hub, the network or the disk had to say
        first = str(error).strip().split("\n")[0] or type(error).__name__
        raise CannotImport(
            "fetch-failed",
            f"there is no folder {name!r} here, and a model of that name could not be fetched from the Hugging Face hub "
            f"({first}); check the name and the network",
        ) from None


def read(directory: Path) -> Imported:
    """The model in a folder."""
    if not directory.is_dir():
        what = "is a file" if directory.exists() else "does not exist"
        raise CannotImport("not-a-model-folder", f"{directory} {what}; give the folder that holds {CONFIG} and {WEIGHTS}")
    if not (directory / CONFIG).is_file():
        raise CannotImport("not-a-model-folder", f"{directory} has no {CONFIG}; give the folder of a Hugging Face model")
    architecture, values, tokens = _understood(directory / CONFIG)
    theirs = _read_tensors(directory)
    for name, ours in architecture.optional.items():
        values[ours] = values[ours] and name in theirs
    context, vocabulary, where = values["context"], values["vocabulary"], str(directory)
    _check_sizes(values, theirs, where)
    model = with_values(ModelSpec(), values)
    try:
        imported_model.check(model, context, where)
        model = canonical(model, context)
        shapes = imported_model.shapes(model, vocabulary, context)
    except (RuntimeError, TypeError, OverflowError) as error:
        raise CannotImport("sizes-do-not-fit", f"{where} cannot be built in the sizes of its {CONFIG}: {error}") from None
    return Imported(
        model=model,
        context=context,
        vocabulary=vocabulary,
        tensors=weight_tables.load(
            architecture.weights(model), architecture.named(theirs, model, where), shapes, where=where
        ),
        tokenizer=_read_json(directory / TOKENIZER) if (directory / TOKENIZER).is_file() else None,
        origin=where,
        architecture=architecture.name,
        token_ids=tokens,
    )


def _check_sizes(values: Values, theirs: Tensors, where: str) -> None:
    """Refuse sizes that are not of these files at all before a model of such sizes is so much as named."""
    layers = values["layers"] + values.get("encoder_layers", 0) + values.get("image_layers", 0)
    if layers > len(theirs):
        raise CannotImport(
            "sizes-do-not-fit", f"{where} has {layers} layers by its {CONFIG}, and only {len(theirs)} tensors"
        )
    embedding, numbers = values["vocabulary"] * values["width"], sum(tensor.numel() for tensor in theirs.values())
    if embedding > numbers:
        raise CannotImport(
            "sizes-do-not-fit",
            f"{where} has {embedding} numbers in its embedding by its {CONFIG}, and only {numbers} in all",
        )


def _understood(path: Path) -> tuple[Architecture, Values, dict[str, Any]]:
    """What a config says: the architecture, our fields and the ids of tokens."""
    config = _read_json(path)
    named = config.get("architectures")
    try:
        if not isinstance(named, list) or not named or not isinstance(named[0], str):
            known = ", ".join(sorted(registry.BY_NAME))
            raise CannotImport(
                "unsupported-architecture", f"architectures={named!r} names no architecture; give a list of one of: {known}"
            )
        architecture = registry.find(named[0])
        return architecture, architecture.read_config(config), architecture.read_tokens(config)
    except GlasshouseError as error:
        raise CannotImport(error.code, f"{path}: {error}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CannotImport("not-json", f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise CannotImport("not-json", f"{path} holds {type(found).__name__} where an object of named fields is needed")
    return found


def _read_tensors(directory: Path) -> Tensors:
    """The tensors of one file, or of all that an index names."""
    if (directory / WEIGHTS).is_file():
        return checkpoint.load_tensors(directory / WEIGHTS)
    if (directory / INDEX).is_file():
        return _read_shards(directory)
    if pickles := sorted(path.name for pattern in PICKLES for path in directory.glob(pattern)):
        raise CannotImport(
            "pickle-refused",
            f"{directory} holds its weights as {', '.join(pickles)}, which can run any code when it is opened; nothing is "
            f'unpickled here. If you trust it, convert it with: python -c "import torch; from safetensors.torch import '
            f"save_file; weights = torch.load('{pickles[0]}', weights_only=True); save_file({{name: tensor.clone("
            f"memory_format=torch.contiguous_format) for name, tensor in weights.items()}}, '{WEIGHTS}')\"",
        )
    raise CannotImport("no-weights", f"{directory} has no weights: neither {WEIGHTS} nor {INDEX} is there")


def _read_shards(directory: Path) -> Tensors:
    index = directory / INDEX
    places = _read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise CannotImport("bad-index", f"{index} has no weight_map that says in which file each tensor is")
    found: Tensors = {}
    for file in sorted(set(places.values())):
        if Path(file).name != file:
            raise CannotImport("bad-index", f"{index} names the file {file!r}, which is not in its own folder")
        if not (directory / file).is_file():
            raise CannotImport(
                "missing-file", f"{directory} lacks {file!r}, one of the files that {INDEX} names; fetch it again"
            )
        found |= checkpoint.load_tensors(directory / file)
    for name, file in places.items():
        if name not in found:
            raise CannotImport("missing-tensor", f"{directory} lacks the tensor {name!r}, which {INDEX} says is in {file}")
    return found


def export(run: Run, output: Path) -> None:
    """Write a run as a folder that `transformers` loads; which architecture it is follows from the run's spec."""
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CannotExport("output-exists", f"{output} exists already; give a folder that does not, or delete it")
    context, vocabulary, facts = run.spec.data.context, run.vocabulary, run.facts
    try:
        architecture, model = registry.fitting(run.spec.model, context, vocabulary, facts.get("architecture", ""))
    except GlasshouseError as error:
        raise CannotExport(error.code, f"{run.name} cannot be exported: {error}") from None
    ours = {name: tensor.detach().float().cpu() for name, tensor in run.model.state_dict().items()}
    for name, shape in imported_model.shapes(model, vocabulary, context).items():
        if name not in ours:  # what the run does without and the architecture has: at zero it does nothing
            ours[name] = torch.zeros(shape)
    theirs = architecture.copied(weight_tables.save(architecture.weights(model), ours), model)
    tokenizer = _read_json(run.folder.tokenizer_file) if run.folder.tokenizer_file.exists() else None
    ids = _ids_of(tokenizer)
    tokens = {role: ids[role] for role in ("bos", "eos", "pad") if role in ids} | facts.get("token_ids", {})
    if model.kind == "dual-encoder":
        tokens.setdefault("eos", vocabulary - 1)  # whose place gives a text its vector: there must be one
    config = architecture.write_config(values_of(model, context, vocabulary), tokens)
    try:
        with atomic_files.folder(output) as temporary:
            _save_tensors(temporary / WEIGHTS, theirs)
            atomic_files.write_json(temporary / CONFIG, config)
            if model.kind in ("decoder", "encoder-decoder") and tokens:
                atomic_files.write_json(
                    temporary / "generation_config.json", {f"{role}_token_id": id for role, id in tokens.items()}
                )
            if tokenizer is not None:
                atomic_files.write_text(temporary / TOKENIZER, run.folder.tokenizer_file.read_text(encoding="utf-8"))
                atomic_files.write_json(
                    temporary / "tokenizer_config.json", _tokenizer_config(tokenizer, tokens, ids, context)
                )
    except FileExistsError:
        raise CannotExport("output-exists", f"{output} came into being meanwhile; give another folder") from None
    except OSError as error:
        raise CannotExport("cannot-write", f"cannot write {output}: {error.strerror or error}") from None


def _save_tensors(path: Path, tensors: Tensors) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:
        raise OSError(f"{path.name}: {error}") from None


def _spelled(tokenizer: Mapping[str, Any] | None) -> dict[str, int]:
    """The ids of a tokenizer's special tokens."""
    added = (tokenizer or {}).get("added_tokens") or []
    return {token["content"]: token["id"] for token in added if token.get("special")}


def _ids_of(tokenizer: Mapping[str, Any] | None) -> dict[str, int]:
    """The ids of the tokens whose names say their roles."""
    ids = _spelled(tokenizer)
    found = {role: [ids[name] for name in names if name in ids] for role, names in TOKEN_NAMES.items()}
    return {role: known[0] for role, known in found.items() if known}


def _tokenizer_config(
    tokenizer: Mapping[str, Any], tokens: Mapping[str, Any], ids: Mapping[str, int], context: int
) -> dict[str, Any]:
    names = {id: name for name, id in _spelled(tokenizer).items()}
    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": context}
    config["clean_up_tokenization_spaces"] = False
    for role in TOKEN_NAMES:
        id = tokens.get(role, ids.get(role))
        id = id[0] if isinstance(id, list) and id else id
        if isinstance(id, int) and id in names:
            config[f"{role}_token"] = names[id]
    return config
