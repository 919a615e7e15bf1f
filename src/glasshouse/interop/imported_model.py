"""A model as every importer returns it: our spec, our tensors and a tokenizer.json; and how it becomes a run folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from glasshouse import models, tokenizers
from glasshouse.interop.architectures import registry
from glasshouse.interop.architectures.base import Architecture
from glasshouse.interop.architectures.config_fields import FieldValues, with_field_values
from glasshouse.interop.weight_mapping import Tensors
from glasshouse.records import atomic_files, checkpoint, machine, run_folder
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import declared, spec_files
from glasshouse.specs.errors import CannotImport, GlasshouseError, MissingExtra, SpecError
from glasshouse.specs.spec import DataSpec, ModelSpec, Spec

# An import holds each number in float32, and some of them twice: tensors that are concatenated to one of ours.
BYTES_PER_NUMBER = 6
# The tasks of imported models that may have been trained on single texts or on pairs. Their files do not say which.
PAIR_TASKS = ("classify", "multi-label")


@dataclass(frozen=True)
class ImportedModel:
    """A model in our terms.

    model: the spec, in which the settings that its parts declare are filled in, so that equal models compare equal.
    vocabulary: rows of the token embedding; may be larger than the tokenizer's vocabulary.
    tensors: our state dict, in float32.
    tokenizer: the contents of a tokenizer.json; None if the model comes without a tokenizer.
    origin: the file or directory that was read, for messages and reports.
    architecture: the name of its Hugging Face architecture if known, so that it is exported as the same.
    token_ids: the ids of special tokens by role (bos, eos, pad, ...), as far as they are known.
    task: the task of the run, if it is not to predict tokens.
    labels: the names of the classes of a classifier or of the tags of a tagger.
    """

    model: ModelSpec
    context: int
    vocabulary: int
    tensors: Tensors
    tokenizer: dict[str, Any] | None
    origin: str
    architecture: str = ""
    token_ids: dict[str, Any] = field(default_factory=dict)
    task: str = ""
    labels: tuple[str, ...] = ()


def check_memory(path: Path, numbers: int) -> None:
    """Refuse a model with more numbers than fit into the memory of this machine, before any of them is read."""
    needed, free = numbers * BYTES_PER_NUMBER, machine.available_memory()
    if needed > free:
        raise CannotImport(f"{path} takes {needed:,} bytes to import, and {free:,} are free; choose a smaller model")


def build(
    table: Architecture, values: FieldValues, theirs: Tensors, where: str, origin: str = "", **facts: Any
) -> ImportedModel:
    """The model with these spec fields and with their tensors. `where` names the file or directory in error messages."""
    layers = values["layers"] + values.get("encoder_layers", 0) + values.get("image_layers", 0)
    embedding, numbers = values["vocabulary"] * values["width"], sum(tensor.numel() for tensor in theirs.values())
    if layers > len(theirs) or embedding > numbers:  # before such a model is built
        sizes = f"{layers} layers and an embedding of {embedding}, but only {len(theirs)} tensors of {numbers} numbers"
        raise CannotImport(f"{where} has {sizes}; check its config.json or metadata")
    context, vocabulary = values["context"], values["vocabulary"]
    model = with_field_values(ModelSpec(), values)
    try:
        spec_files.checked(Spec(data=DataSpec(context=context), model=model))
        models.check(model, context)
        model = declared.completed(Spec(model=registry.canonical(model, context))).model
        shapes = tensor_shapes(model, vocabulary, context)
    except (SpecError, RuntimeError, TypeError, OverflowError) as error:
        raise CannotImport(f"{where} cannot be imported with the sizes in its config.json or metadata: {error}") from None
    tensors = table.import_tensors(theirs, model, shapes, where)
    return ImportedModel(model, context, vocabulary, tensors, origin=origin or where, **facts)


def check_tokenizer(imported: ImportedModel) -> None:
    """Raise an error if the tokenizer cannot be read, or has more tokens than the model."""
    try:
        tokenizer = tokenizers.read(imported.tokenizer, "its tokenizer")
        _ = tokenizer.prefix_and_suffix, tokenizer.pair_separator  # refuses a template that cannot be applied
    except MissingExtra:
        return  # the model can be imported even if the package that its tokenizer needs is not installed
    except GlasshouseError as error:
        raise CannotImport(f"{imported.origin}: {error}") from None
    if tokenizer.vocabulary > imported.vocabulary:
        counts = f"a tokenizer of {tokenizer.vocabulary} tokens and a model of {imported.vocabulary}"
        raise CannotImport(f"{imported.origin} has {counts}; import it with the tokenizer of this model")


def joins_pairs(tokenizer: Mapping[str, Any] | None) -> bool:
    """Whether a tokenizer.json puts tokens between the two texts of a pair."""
    step = (tokenizer or {}).get("post_processor")
    within = step.get("processors") if isinstance(step, Mapping) else None
    return any(_puts_between(each) for each in (step, *(within if isinstance(within, list) else ())))


def _puts_between(step: Any) -> bool:
    if not isinstance(step, Mapping) or step.get("type") != "TemplateProcessing" or not isinstance(step.get("pair"), list):
        return isinstance(step, Mapping) and step.get("type") in ("BertProcessing", "RobertaProcessing")
    texts = [each["Sequence"] if isinstance(each, Mapping) and "Sequence" in each else {} for each in step["pair"]]
    names = [text.get("id") if isinstance(text, Mapping) else None for text in texts]
    return None in names[names.index("A") : names.index("B")] if "A" in names and "B" in names else False


def tensor_shapes(model: ModelSpec, vocabulary: int, context: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a model's state dict, without allocating memory for it."""
    with models.WithoutWeights():
        built = models.assemble(model, vocabulary, context)
    return {name: tuple(tensor.shape) for name, tensor in built.state_dict().items()}


def save_as_run(imported: ImportedModel, name: str, path: Path | None = None) -> RunFolder:
    """Create a run folder with the model, which every command opens like a run that was trained here.

    It is in the runs folder under `name`, or at `path`.
    """
    if imported.tokenizer is not None:
        check_tokenizer(imported)
    # It names the parts of the model. Its data and training tables are defaults, which were not used.
    spec = Spec(imported.task or Spec().task, data=DataSpec(context=imported.context), model=imported.model)
    spec = replace(spec, evaluation=replace(spec.evaluation, sample_tokens=min(60, imported.context)))
    run = run_folder.create(spec, name, name) if path is None else run_folder.create_at(path, spec, name)
    saved = Checkpoint(0, {"model": imported.tensors}, {"seconds": 0.0, "best": {}})
    checkpoint.save(run.checkpoints, saved)
    if imported.tokenizer is not None:
        atomic_files.write_text(run.tokenizer_file, json.dumps(imported.tokenizer, ensure_ascii=False, indent=1) + "\n")
    run.record(
        status=Status.IMPORTED,
        vocabulary=imported.vocabulary,
        origin=imported.origin,
        architecture=imported.architecture,
        token_ids=imported.token_ids,
        **({"labels": list(imported.labels)} if imported.labels else {}),
        **({"joins_pairs": True} if imported.task in PAIR_TASKS and joins_pairs(imported.tokenizer) else {}),
    )
    return run
