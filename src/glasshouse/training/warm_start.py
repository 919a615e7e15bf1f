"""Warm start: begin training with the model shape and the weights of another run. Weights are matched by name."""

import glob
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from glasshouse import models, tokenizers
from glasshouse.records import checkpoint, run_folder, user_paths
from glasshouse.records.checkpoint import Tensors
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import catalogue, spec_fields
from glasshouse.specs.errors import CannotImport, RunError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tokenizers import Tokenizer
from glasshouse.training import lora
from glasshouse.training.engine import load_weights

# In `training.start_from`, this stands for the seed of the run that starts.
SEED = "{seed}"
# Fields of the model spec that the new run sets itself. It inherits all other fields from the old run.
NOT_SHARED = ("head", "dropout", "initialisation")
# Prefixes under which another kind of model holds an encoder.
ENCODER_PREFIXES = ("encoder.", "text.")
# Matrices with one row per token or position; the number of rows may differ between runs.
TABLES = ("embedding.weight", "position.table.weight")


@dataclass(frozen=True)
class WeightTransfer:
    """Names of tensors: copied; copied in the rows that both runs have; only in the old run; only in the new model."""

    loaded: list[str]
    partly: list[str]
    left: list[str]
    new: list[str]

    def note(self, run: str) -> str:
        parts = [f"{len(self.loaded)} tensors loaded"]
        for what, names in (("loaded in part", self.partly), ("not used", self.left), ("new", self.new)):
            if names:
                first_names = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
                parts.append(f"{len(names)} {what} ({first_names})")
        return f"started from {run}: {'; '.join(parts)}"


def inherited_fields(spec: Spec) -> dict[str, object]:
    """The fields of a run's model spec that a new run inherits when it starts from this run."""
    base = {name: getattr(spec.model, name) for name in spec_fields.fields(ModelSpec) if name not in NOT_SHARED}
    return {**base, **spec.model.own}


def merged_weights(run: RunFolder) -> Tensors:
    """A run's best weights (or its newest, without validation), with LoRA adapters merged into their matrices."""
    saved = checkpoint.best(run.checkpoints, warn=say)
    if saved is None:
        raise RunError(f"{run.name} has no checkpoint to start from; go on with: glasshouse resume {run.name}")
    spec = run.spec()
    if not spec.training.lora_rank:
        return saved.weights
    return dict(load_model(run, spec, saved.weights, f"the checkpoint of step {saved.step}").state_dict())


def load_model(run: RunFolder, spec: Spec, tensors: Tensors, where: str) -> models.Model:
    """The model of a run with these weights; LoRA adapters are merged."""
    vocabulary = int(run.facts().get("vocabulary", 0)) or tokenizers.load(run.tokenizer_file).vocabulary
    model = models.build(spec.model, vocabulary, spec.data.context)
    lora.attach(model, spec.training)
    load_weights(model, tensors, where)
    lora.merge(model)
    return model


def weights_for(tokenizer: Tokenizer, run: RunFolder) -> tuple[Tensors, list[str]]:
    """A run's weights that a model with this tokenizer can use, and remarks. A run without a tokenizer file has the same."""
    tensors = merged_weights(run)
    if not run.tokenizer_file.exists() or tokenizers.load(run.tokenizer_file).digest() == tokenizer.digest():
        return tensors, []
    kept = {
        name: one for name, one in tensors.items() if not name.endswith("embedding.weight") and not name.startswith("head.")
    }
    return kept, [f"{run.name} has another tokenizer: its embeddings and its head are not used"]


def find(name: str, seed: int | None = None) -> RunFolder:
    """The run to start from. A package or a model directory is imported first.

    `{seed}` in the name stands for the seed of the run that starts. Without one, any run that the name stands for will do.
    """
    if importer := importer_of(name):
        try:
            imported: RunFolder = catalogue.find("importer", importer, "training.start_from")(name)
            return imported
        except CannotImport as error:
            raise error.within("training.start_from") from None
    seeds = [seed] if seed is not None else _seeds_of_runs(name)[:1]
    try:
        # Without a run of any seed, the error names the run with `{seed}`, as it was typed.
        return run_folder.find(name.replace(SEED, str(seeds[0])) if seeds else name)
    except RunError as error:
        known = "another run, a Hugging Face directory, or package:NAME, an installed package with weights"
        raise RunError(f"training.start_from: {error}; train that run first, or name {known}") from None


def importer_of(name: str) -> str:
    """The importer that a name needs: the word before a colon, or `path` for a model file or directory. Empty for a run."""
    prefix, colon, _ = name.partition(":")
    if colon and prefix in catalogue.names("importer"):
        return prefix
    path = user_paths.expand(name)
    if len(path.parts) == 1 and (run_folder.root() / path / "spec.toml").is_file():
        return ""
    is_directory = (path / "config.json").is_file() and not (path / "spec.toml").is_file()
    return "path" if is_directory or (path.suffix == ".gguf" and path.is_file()) else ""


def _seeds_of_runs(name: str) -> list[int]:
    """The seeds for which a run of this name exists, in increasing order."""
    folder = run_folder.root() if len(Path(name).parts) == 1 else Path()
    pieces = str(folder / name).split(SEED)
    pattern = re.compile("([0-9]+)".join(map(re.escape, pieces)))
    matches = [pattern.fullmatch(path) for path in glob.glob("*".join(map(glob.escape, pieces)))]
    return sorted({int(match[1]) for match in matches if match and len(set(match.groups())) == 1}) if pieces[1:] else []


def transfer(model: nn.Module, tensors: Tensors) -> WeightTransfer:
    """Copy every tensor that the model has under a corresponding name and in the same shape; of tables of positions or
    tokens the rows that both have. An encoder inside a model corresponds to an encoder that is a whole model."""
    kinds: dict[str, list[str]] = {"loaded": [], "partly": [], "new": []}
    unused = dict.fromkeys(tensors)
    with torch.no_grad():
        for name, parameter in model.state_dict().items():
            kind, source = "new", next((one for one in _corresponding_names(name) if one in tensors), "")
            if source and tensors[source].shape == parameter.shape:
                kind = "loaded"
                parameter.copy_(tensors[source])
            elif source and name.endswith(TABLES) and tensors[source].shape[1:] == parameter.shape[1:]:
                kind, rows = "partly", min(len(tensors[source]), len(parameter))
                parameter[:rows] = tensors[source][:rows]
            kinds[kind].append(name)
            if kind != "new":
                unused.pop(source, None)
    if not kinds["loaded"] and not kinds["partly"]:
        raise RunError("training.start_from: no tensor of that run fits this model; check model.kind and model.width")
    return WeightTransfer(**kinds, left=[*unused])


def _corresponding_names(name: str) -> list[str]:
    """The names that a tensor may have in another kind of model."""
    bare = [name.removeprefix(prefix) for prefix in ENCODER_PREFIXES if name.startswith(prefix)]
    # An output matrix that was tied to the embedding becomes one of its own.
    tied = ["embedding.weight"] if name == "head.weight" else []
    return [name, *bare, *(prefix + name for prefix in ENCODER_PREFIXES), *tied]
