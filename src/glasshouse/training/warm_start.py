"""Starting from another run: its weights, matched by name, and its shape. Any run can start from any other."""

from dataclasses import asdict, dataclass

import torch
from torch import nn

from glasshouse import models, tokenizers
from glasshouse.records import checkpoint, run_folder
from glasshouse.records.checkpoint import Tensors
from glasshouse.records.progress_bar import say
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import spec_fields
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.tokenizers import Tokenizer
from glasshouse.training import lora
from glasshouse.training.engine import load_weights

# What a model does with features, or how it is trained, is the new run's own; its other settings are the old run's.
NOT_SHARED = ("head", "dropout", "initialisation")
# Towers that another kind of model has under a name of their own.
TOWERS = ("encoder.", "text.")
# Matrices whose rows are tokens or positions, of which there may be more in one run than in another.
TABLES = ("embedding.weight", "position.table.weight")


@dataclass(frozen=True)
class Loaded:
    """Names of tensors: taken over whole, taken over as far as they fit, left behind in the old run, new in this one."""

    loaded: tuple[str, ...]
    partly: tuple[str, ...]
    left: tuple[str, ...]
    new: tuple[str, ...]

    def facts(self) -> dict[str, list[str]]:
        return {name: list(names) for name, names in asdict(self).items()}

    def note(self, run: str) -> str:
        """One line for people."""
        parts = [f"{len(self.loaded)} tensors loaded"]
        for what, names in (("fitted in part", self.partly), ("left behind", self.left), ("new", self.new)):
            if names:
                some = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
                parts.append(f"{len(names)} {what} ({some})")
        return f"started from {run}: {'; '.join(parts)}"


def shape(spec: Spec) -> dict[str, object]:
    """The settings of a run's model that a model which starts from it must share, as a table."""
    base = {name: getattr(spec.model, name) for name in spec_fields.fields(ModelSpec) if name not in NOT_SHARED}
    return {**base, **spec.model.own}


def plain_weights(run: RunFolder) -> Tensors:
    """A run's best weights, or its newest where nothing was validated, with what adapters learned in their matrices."""
    saved = checkpoint.best(run.checkpoints, complain=say)
    if saved is None:
        raise RunError(
            "no-checkpoint", f"{run.name} has no checkpoint to start from; continue it with: glasshouse resume {run.name}"
        )
    spec = run.spec()
    if not spec.training.lora_rank:
        return saved.weights
    return dict(opened(run, spec, saved.weights, f"the checkpoint of step {saved.step}").state_dict())


def opened(run: RunFolder, spec: Spec, tensors: Tensors, where: str) -> nn.Module:
    """The model of a run with these weights, adapters merged; nothing else of it is needed."""
    vocabulary = int(run.facts().get("vocabulary", 0)) or tokenizers.load(run.tokenizer_file).vocabulary
    model = models.build(spec.model, vocabulary, spec.data.context)
    lora.attach(model, spec.training)
    load_weights(model, tensors, where)
    lora.merge(model)
    return model


def same_tokenizer(run: RunFolder, tokenizer: Tokenizer) -> bool:
    """Whether a run's tokens mean what this tokenizer's do; of a run without a tokenizer nothing else is known."""
    return not run.tokenizer_file.exists() or tokenizers.load(run.tokenizer_file).digest() == tokenizer.digest()


def without_vocabulary(tensors: Tensors) -> Tensors:
    """The tensors whose rows are not tokens, so that they mean something to another tokenizer's model."""
    return {
        name: tensor
        for name, tensor in tensors.items()
        if not name.endswith("embedding.weight") and not name.startswith("head.")
    }


def find(name: str) -> RunFolder:
    """The run to start from, with the remedy where there is none."""
    try:
        return run_folder.find(name)
    except RunError as error:
        raise RunError(error.code, f"training.start_from: {error}; train it first, or name a run or its folder") from None


def load(model: nn.Module, tensors: Tensors) -> Loaded:
    """Take over every tensor whose name the model has (its encoder may be a whole model there), as far as shapes agree.

    Of a table of positions or tokens whose length differs, the rows that both have are taken.
    """
    loaded: list[str] = []
    partly: list[str] = []
    new: list[str] = []
    used: set[str] = set()
    own = model.state_dict()
    with torch.no_grad():
        for name, parameter in own.items():
            source = next((each for each in _names(name) if each in tensors), None)
            fits = source is not None and tensors[source].shape == parameter.shape
            table = source is not None and name.endswith(TABLES) and tensors[source].shape[1:] == parameter.shape[1:]
            if source is None or not (fits or table):
                new.append(name)
                continue
            used.add(source)
            theirs = tensors[source].to(parameter)
            if fits:
                parameter.copy_(theirs)
                loaded.append(name)
            else:
                rows = min(len(theirs), len(parameter))
                parameter[:rows] = theirs[:rows]
                partly.append(name)
    if not loaded and not partly:
        raise RunError(
            "nothing-to-start-from",
            "training.start_from: no tensor of that run fits this model; check model.kind and model.width",
        )
    return Loaded(tuple(loaded), tuple(partly), tuple(name for name in tensors if name not in used), tuple(new))


def _names(name: str) -> list[str]:
    """What a tensor may be called in another kind of model."""
    bare = [name.removeprefix(tower) for tower in TOWERS if name.startswith(tower)]
    return [name, *bare, *(tower + name for tower in TOWERS)]
