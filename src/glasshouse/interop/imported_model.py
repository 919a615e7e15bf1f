"""A model from elsewhere, understood: what every reader gives, and how it becomes a run folder."""

import json
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from glasshouse import models, tokenizers
from glasshouse.interop.weight_tables import Tensors
from glasshouse.records import atomic_files, checkpoint, run_folder
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import spec_files
from glasshouse.specs.errors import CannotImport, GlasshouseError, MissingExtra, SpecError
from glasshouse.specs.spec import DataSpec, ModelSpec, Spec


@dataclass(frozen=True)
class Imported:
    """Our spec and weights of a model, its vocabulary (which may be larger than its tokenizer's), and the contents of its
    tokenizer.json where there is one.

    Where they are known: what the model is called where it came from, so that it can go back as the same, and the ids of its
    tokens by role (bos, eos, pad, ...).
    """

    model: ModelSpec
    context: int
    vocabulary: int
    tensors: Tensors
    tokenizer: dict[str, Any] | None
    origin: str
    architecture: str = ""
    token_ids: dict[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> Spec:
        """A spec that made no run: it names the parts, and no text and no training."""
        spec = Spec(data=DataSpec(context=self.context), model=self.model)
        return replace(spec, evaluation=replace(spec.evaluation, sample_tokens=min(60, self.context)))


def check(model: ModelSpec, context: int, origin: str) -> None:
    """Refuse a model whose parts do not fit together here."""
    try:
        spec_files.checked(Spec(data=DataSpec(context=context), model=model))
        models.check(model, context)
    except SpecError as error:
        raise CannotImport(error.code, f"{origin} cannot be expressed here: {error}") from None


def _check_tokenizer(imported: Imported) -> None:
    """Refuse a tokenizer that cannot be read, or that has tokens which the model has no rows for."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "tokenizer.json"
        path.write_text(json.dumps(imported.tokenizer), encoding="utf-8")
        try:
            tokenizer = tokenizers.load(path)
        except MissingExtra:
            return  # the model may be imported where its tokenizer cannot be used
        except GlasshouseError as error:
            raise CannotImport(error.code, f"{imported.origin}: {str(error).replace(str(path), 'its tokenizer')}") from None
    if tokenizer.vocabulary > imported.vocabulary:
        raise CannotImport(
            "tokenizer-does-not-fit",
            f"{imported.origin} has a tokenizer of {tokenizer.vocabulary} tokens and a model that knows only "
            f"{imported.vocabulary}: they do not belong together",
        )


def shapes(model: ModelSpec, vocabulary: int, context: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of a model's tensors, without making it."""
    with torch.device("meta"):
        built = models.assemble(model, vocabulary, context)
    return {name: tuple(tensor.shape) for name, tensor in built.state_dict().items()}


def write(imported: Imported, name: str) -> RunFolder:
    """A new run with these weights, which `sample`, `evaluate`, `export` and `certify` read like any other."""
    check(imported.model, imported.context, imported.origin)
    if imported.tokenizer is not None:
        _check_tokenizer(imported)
    run = run_folder.create(imported.spec, name, name)
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
    )
    return run
