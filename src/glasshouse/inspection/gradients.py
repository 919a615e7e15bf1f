"""Gradients of a run, at initialisation and at its checkpoints: their size by layer, and their way through depth and time.

The Jacobian of one token's state by an earlier state shows how a small change grows or shrinks on its way: its singular
values are the factors. Values far below 1 vanish, values far above 1 explode.

Axes: T time, D width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from glasshouse.inspection.capture import capture, edit
from glasshouse.models import Model, build
from glasshouse.models.dual_encoder import DualEncoder
from glasshouse.records import checkpoint
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Batch, Progress, no_progress
from glasshouse.training import warm_start

INITIAL = "at initialisation"
# Tokens of the text whose Jacobians are computed.
TOKENS = 32


@dataclass(frozen=True)
class LayerGradient:
    """A layer: the norm of the loss's gradient by its parameters, and that norm over the norm of the parameters."""

    layer: str
    norm: float
    relative: float


@dataclass(frozen=True)
class Spread:
    """The largest, the median and the smallest singular value of a Jacobian."""

    place: int  # the layer, or the number of tokens between the two states
    largest: float
    median: float
    smallest: float


@dataclass(frozen=True)
class Gradients:
    """The gradients of one state of the weights."""

    state: str  # "at initialisation", "step 500" or, for a new model, "layers=8"
    layers: tuple[LayerGradient, ...]
    depth: tuple[Spread, ...]  # the last token's state after each layer by its embedding
    time: tuple[Spread, ...]  # the last token's final state by the embedding of an earlier token


def gradients(run: Run, batches: Sequence[Batch], progress: Progress = no_progress) -> list[Gradients]:
    """The gradients of a run with its initial weights and with those of each checkpoint that it has kept."""

    def model_at(step: int) -> Model:
        saved = checkpoint.load(run.folder.checkpoints, step)
        return warm_start.load_model(run.folder, run.spec, saved.weights, f"the checkpoint of step {step}")

    models = [(INITIAL, partial(_new_model, run, run.spec))]
    for step in checkpoint.steps(run.folder.checkpoints):
        models.append((f"step {step:,}" if step else "imported weights", partial(model_at, step)))
    return _measure_all(run, models, batches, progress)


def initial_gradients(run: Run, against: str, batches: Sequence[Batch], progress: Progress = no_progress) -> list[Gradients]:
    """The gradients of new models like that of the run, for several values of one field: `model.layers=2,8,24`.

    All have the run's seed and read the same examples, so they differ in that field alone.
    """
    [against] = resolve_spec.with_full_names([against])
    field, _, values = against.partition("=")
    if not field.startswith("model.") or not values.strip():
        raise GlasshouseError("must be a field of the model and its values, such as model.layers=2,8,24", "against", against)
    words = [f"{field}={value.strip()}" for value in values.split(",")]
    specs = [resolve_spec.spec_of(str(run.folder.spec_file), word) for word in words]
    states = [word.removeprefix("model.") for word in words]
    models = [(state, partial(_new_model, run, spec)) for state, spec in zip(states, specs, strict=True)]
    return _measure_all(run, models, batches, progress)


def _new_model(run: Run, spec: Spec) -> Model:
    return build(spec.model, run.vocabulary, spec.data.context, run.spec.training.seed)


def _measure_all(
    run: Run, models: Sequence[tuple[str, Callable[[], Model]]], batches: Sequence[Batch], progress: Progress
) -> list[Gradients]:
    count = sum(run.task.prediction_count(batch) for batch in batches)
    results = []
    for state, new_model in models:
        model = new_model().eval().to(run.device)
        with torch.enable_grad():
            for batch in batches:
                run.task.loss_sum(model, batch).backward()
        results.append(Gradients(state, _by_layer(model, count), *_jacobians(model, batches[0])))
        progress(len(results) / len(models))
    return results


def _by_layer(model: nn.Module, count: int) -> tuple[LayerGradient, ...]:
    squares: dict[str, list[float]] = {}
    for name, parameter in model.named_parameters():
        if parameter.grad is None:
            continue
        sums = squares.setdefault(layer_of(name), [0.0, 0.0])
        sums[0] += float((parameter.grad / count).square().sum())
        sums[1] += float(parameter.detach().square().sum())
    return tuple(
        LayerGradient(layer, gradient**0.5, (gradient / weights) ** 0.5 if weights else 0.0)
        for layer, (gradient, weights) in squares.items()
    )


def layer_of(name: str) -> str:
    """The layer of a parameter: "decoder.blocks.1.attention.output.weight" -> "decoder layer 2"."""
    parts = name.split(".")
    for index, part in enumerate(parts):
        if part.isdigit() and parts[index - 1] in ("blocks", "layers"):
            return " ".join([*parts[: index - 1], f"layer {int(part) + 1}"])
    return parts[0]


def _jacobians(model: Model, batch: Batch) -> tuple[tuple[Spread, ...], tuple[Spread, ...]]:
    """(singular values by layer, by distance in time) of the stack that predicts, for the first text of the batch."""
    embedded, *layers = _states(model, batch)
    if not layers:
        return (), ()  # a bag of words has no layers
    last = embedded.shape[1] - 1
    directions = torch.eye(embedded.shape[2], device=embedded.device, dtype=embedded.dtype)
    depth = []
    for index, state in enumerate(layers):
        by_direction = [
            torch.autograd.grad(state[0, last], embedded, direction, retain_graph=True)[0] for direction in directions
        ]
        rows = torch.stack(by_direction)  # the Jacobian (D, 1, T, D) of the last token's state by all embeddings
        depth.append(_spread(index + 1, rows[:, 0, last]))
    time = [_spread(last - token, rows[:, 0, token]) for token in range(last, -1, -1)]
    return tuple(depth), tuple(time)


def _states(model: Model, batch: Batch) -> list[Tensor]:
    """The embeddings of one text and the states after each layer, in one graph; layers that follow each other differ."""
    first = {name: tensor[:1] for name, tensor in batch.items()}
    ids = first["tokens"][:, : int(first["lengths"])] if "tokens" in first else first["inputs"]
    ids = ids[:, :TOKENS]
    stack = model.text_stacks[-1]
    layers = model.layer_outputs(stack)
    leaves: list[Tensor] = []

    def leaf(output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    with torch.enable_grad(), edit(model, {f"{stack}embedded": leaf}), capture(model, *layers) as activations:
        if isinstance(model, DualEncoder):
            model.encode_text(ids)
        elif model.reads == "source":
            model(first["source"], ids, first["lengths"])
        else:
            model(*([first["pictures"]] if model.reads == "picture" else []), ids)
    return [leaves[0], *(activations[name] for name in layers)]


def _spread(place: int, jacobian_DD: Tensor) -> Spread:
    values = np.linalg.svd(jacobian_DD.double().cpu().numpy(), compute_uv=False)
    return Spread(place, float(values.max()), float(np.median(values)), float(values.min()))
