"""Reads and writes Hugging Face model directories: config.json, safetensors, tokenizer.json. Knows no architecture.

Pickled weights are never read, and code in a directory is never run.
"""

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glasshouse.interop import exported_files, imported_model
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.config_fields import FieldValues, field_values
from glasshouse.interop.exported_files import TOKENIZER
from glasshouse.interop.imported_model import ImportedModel
from glasshouse.interop.weight_mapping import Tensors
from glasshouse.records import atomic_files, checkpoint, containment, kept_json
from glasshouse.runs import suggestions
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, CannotImport, GlasshouseError, RunError

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
# Usual spellings of special tokens by role, for roles whose ids config.json does not give.
TOKEN_NAMES = {
    "bos": ("<|endoftext|>", "<s>"),
    "eos": ("<|endoftext|>", "</s>"),
    "unk": ("<unk>", "[UNK]"),
    "pad": ("<pad>", "[PAD]"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("<mask>", "[MASK]"),
}
SINGLE_LABEL, MULTI_LABEL = "single_label_classification", "multi_label_classification"


def read(directory: Path) -> ImportedModel:
    if not (directory / CONFIG).is_file():
        raise CannotImport(f"{directory} is no directory with {CONFIG}; give the directory of a Hugging Face model")
    _refuse_links(directory)
    config = _read_json(directory / CONFIG)
    names, known = config.get("architectures"), registry.by_name()
    if not isinstance(names, list) or not names or names[0] not in list(known):
        problem = f"must be a list with one of {', '.join(sorted(known))}"
        raise CannotImport(problem, "architectures", names).within(f"{directory / CONFIG}")
    architecture = known[names[0]]
    try:
        values, token_ids = architecture.read_config(config), architecture.read_token_ids(config)
    except GlasshouseError as error:
        raise CannotImport(f"{directory / CONFIG}: {error}") from None
    theirs = _read_tensors(directory)
    for tensor, spec_field in architecture.optional_tensors.items():
        values[spec_field] = values[spec_field] and tensor in theirs
    return imported_model.build(
        architecture,
        values,
        theirs,
        str(directory),
        tokenizer=_read_json(directory / TOKENIZER) if (directory / TOKENIZER).is_file() else None,
        architecture=architecture.name,
        token_ids=token_ids,
        **_task_and_labels(config, values),
    )


def _task_and_labels(config: Mapping[str, Any], values: FieldValues) -> dict[str, Any]:
    """The task of a model that names classes, and their names. `transformers` calls classes without names LABEL_0, ..."""
    count = values.get("head.classes") or values.get("head.tags")
    if not count:
        return {}
    names = config.get("id2label")
    given = names if isinstance(names, Mapping) else {}
    labels = tuple(str(given.get(str(index), f"LABEL_{index}")) for index in range(count))
    if len(set(labels)) < count:
        labels = tuple(f"LABEL_{index}" for index in range(count))
    several = config.get("problem_type") == MULTI_LABEL
    return {"task": "tag" if "head.tags" in values else "multi-label" if several else "classify", "labels": labels}


def _read_json(path: Path) -> dict[str, Any]:
    return kept_json.required(path, dict[str, Any], "download or export it again", CannotImport)


def _read_tensors(directory: Path) -> Tensors:
    """The state dict, from one file or from the shards that an index lists."""
    if (directory / WEIGHTS).is_file():
        return _load(directory / WEIGHTS)
    index = directory / INDEX
    if not index.is_file():
        raise CannotImport(f"{directory} has no {WEIGHTS} or {INDEX}{pickles_in(directory)}; save the model as safetensors")
    file_of_tensor = _read_json(index).get("weight_map")
    if not isinstance(file_of_tensor, dict) or not all(isinstance(file, str) for file in file_of_tensor.values()):
        raise CannotImport(f"{index} has no weight_map that gives the file of every tensor; download or export it again")
    tensors: Tensors = {}
    for file in sorted(set(file_of_tensor.values())):
        if not containment.is_plain_name(file) or not (directory / file).is_file():
            raise CannotImport(f"{index} lists {file[:60]!r}, which is no file inside its directory; download it again")
        tensors |= _load(directory / file)
    if missing := file_of_tensor.keys() - tensors.keys():
        raise CannotImport(f"{directory} lacks the tensor {min(missing)!r}, which {INDEX} lists; download it again")
    return tensors


def pickles_in(folder: Path) -> str:
    """What to say of the pickled weights in a folder, if there are any."""
    names = sorted(path.name for pattern in PICKLES for path in folder.rglob(pattern))
    return f", only {', '.join(names[:3])}, and pickles are never opened, because they can run any code" if names else ""


def _load(path: Path) -> Tensors:
    """The tensors of a safetensors file. Its header says how many numbers there are, before they are read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            numbers = sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118
        imported_model.check_memory(path, numbers)
        return checkpoint.load_tensors(path)
    except (RunError, SafetensorError, OSError) as error:
        raise CannotImport(f"{path} is not a whole safetensors file ({error}); download or export it again") from None


def export(run: Run, output: Path) -> None:
    """Write a run as a directory that `transformers` loads. The run's spec determines the architecture."""
    context, vocabulary, facts = run.spec.data.context, run.vocabulary, run.facts
    try:
        architecture, model = registry.find_for_export(run.spec.model, context, vocabulary, facts.get("architecture", ""))
    except registry.NoFittingArchitecture as error:
        raise CannotExport(f"{run.name} cannot be exported: {error}; {_remedy(run, error.changes)}") from None
    ours = {name: tensor.detach().float().cpu() for name, tensor in run.model.state_dict().items()}
    theirs = architecture.export_tensors(ours, model, imported_model.tensor_shapes(model, vocabulary, context))
    tokenizer = exported_files.document(run)
    ids_by_role = _ids_by_role(tokenizer)
    token_ids: dict[str, Any] = {role: ids_by_role[role] for role in ("bos", "eos", "pad") if role in ids_by_role}
    token_ids |= facts.get("token_ids", {})
    if tokenizer is not None and (pad := exported_files.padding(run, token_ids.pop("pad", None))) is not None:
        token_ids["pad"] = pad
    if model.kind == "dual-encoder":
        token_ids.setdefault("eos", vocabulary - 1)  # CLIP needs an end-of-text token: its vector represents the text
    config = architecture.write_config(field_values(model, context, vocabulary), token_ids)
    if labels := facts.get("labels"):
        config |= _label_names(labels, run.spec.task)
    with exported_files.folder(run, output, tokenizer) as temporary:
        checkpoint.save_tensors(temporary / WEIGHTS, theirs, {"format": "pt"})
        atomic_files.write_json(temporary / CONFIG, config)
        if model.kind in ("decoder", "encoder-decoder") and token_ids:
            atomic_files.write_json(
                temporary / "generation_config.json", {f"{role}_token_id": id for role, id in token_ids.items()}
            )
        if tokenizer is not None:
            written = _tokenizer_config(tokenizer, {**ids_by_role, **token_ids}, context)
            if model.own.get("segments", 0) > 1:
                written["model_input_names"].append("token_type_ids")
            atomic_files.write_json(temporary / "tokenizer_config.json", written)


def _remedy(run: Run, changes: FieldValues) -> str:
    """Commands that lead on: one that trains a model that can be exported, if there is one, and an export as ONNX."""
    command = shlex.join(["glasshouse", "export", run.name, "--to", "onnx", "--output", f"{run.name}-onnx"])
    onnx = f"export this run as it is with: {command}"
    if not changes or "origin" in run.facts:
        return onnx
    fields = {f"model.{name}": value for name, value in changes.items()}
    return f"train a model that fits with: {suggestions.changed_training(run, fields, f'{run.name}-hf')}; or {onnx}"


def _refuse_links(directory: Path) -> None:
    """Refuse a model directory with a file that is a symbolic link to a place outside of it.

    The cache of the Hugging Face hub is a directory of links into a folder `blobs` two levels above, which are followed.
    """
    inside = directory.resolve()
    for path in directory.iterdir():
        if path.is_symlink():
            target = path.resolve()
            if not (target.is_relative_to(inside) or target.parent == inside.parent.parent / "blobs"):
                raise CannotImport(f"{path} is a link to {os.readlink(path)}, outside of its directory; copy the file there")


def _label_names(labels: Sequence[str], task: str) -> dict[str, Any]:
    """The keys of config.json that name the classes, and say whether a text has one of them or several."""
    problem = {} if task == "tag" else {"problem_type": MULTI_LABEL if task == "multi-label" else SINGLE_LABEL}
    return {
        "id2label": {str(index): label for index, label in enumerate(labels)},
        "label2id": {label: index for index, label in enumerate(labels)},
        **problem,
    }


def _ids_by_role(tokenizer: Mapping[str, Any] | None) -> dict[str, int]:
    """The ids of the special tokens whose usual spelling gives away their role."""
    added = (tokenizer or {}).get("added_tokens") or []
    ids = {token["content"]: token["id"] for token in added if token.get("special")}
    candidates = {role: [ids[name] for name in names if name in ids] for role, names in TOKEN_NAMES.items()}
    return {role: known[0] for role, known in candidates.items() if known}


def _tokenizer_config(tokenizer: Mapping[str, Any], token_ids: Mapping[str, Any], context: int) -> dict[str, Any]:
    """The contents of tokenizer_config.json, in which special tokens are named by their text."""
    texts = {token["id"]: token["content"] for token in tokenizer.get("added_tokens") or [] if token.get("special")}
    ids = {role: id[0] if isinstance(id, list) and id else id for role, id in token_ids.items() if role in TOKEN_NAMES}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
        **{f"{role}_token": texts[id] for role, id in ids.items() if isinstance(id, int) and id in texts},
    }
