"""An output matrix that is tied to the token embedding in the first steps, and free afterwards (`training.tied_until`).

The model has both matrices from the start. They begin equal and, while they are tied, both get the sum of their gradients.
Their optimiser states are equal too, so the matrices stay equal, bit for bit, and so does everything that reads them: moving
averages, checkpoints, exports. Which steps are tied is a function of the step, so a resumed run has nothing to restore.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from glasshouse.records.checkpoint import Tensors
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec

EMBEDDING, OUTPUT = "embedding.weight", "head.weight"


def check(model: nn.Module, training: TrainingSpec) -> None:
    """Refuse a model without an output matrix in the shape of its token embedding."""
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    if training.tied_until and (OUTPUT not in shapes or shapes.get(EMBEDDING) != shapes[OUTPUT]):
        raise SpecError(
            "needs an output matrix in the shape of the token embedding, which this model with this head does not "
            "have; choose training.tied_until=0",
            "training.tied_until",
            training.tied_until,
        )


def is_tied(training: TrainingSpec, step: int, steps: int) -> bool:
    return step < round(training.tied_until * steps)


@torch.no_grad()
def initialise(model: nn.Module, training: TrainingSpec) -> None:
    if training.tied_until:
        model.get_parameter(OUTPUT).copy_(model.get_parameter(EMBEDDING))


@contextmanager
def one_gradient(model: nn.Module) -> Iterator[None]:
    """Within the block the embedding holds the gradient of both matrices. Afterwards each of them has it."""
    embedding, output = model.get_parameter(EMBEDDING), model.get_parameter(OUTPUT)
    assert embedding.grad is not None
    assert output.grad is not None
    embedding.grad.add_(output.grad)
    output.grad = None
    yield
    # A copy, because an optimiser may scale gradients in place.
    output.grad = embedding.grad.clone()


def merged(gradients: Tensors) -> Tensors:
    """The gradients by name, with one for both matrices."""
    others = {name: gradient for name, gradient in gradients.items() if name != OUTPUT}
    return {**others, EMBEDDING: gradients[EMBEDDING] + gradients[OUTPUT]}


def shared(gradients: Tensors) -> Tensors:
    """What `merged` returned, with a gradient of its own for each matrix."""
    return {**gradients, OUTPUT: gradients[EMBEDDING].clone()}
