"""Small random models of every combination of attention and position in the catalogue. Knows no claim."""

from functools import cache
from typing import Any

import torch
from torch import nn

from glasshouse import models
from glasshouse.claims.random_check import draw
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import HeadSpec, ModelSpec

# Longer than a chunk of any attention that splits its input.
CONTEXT = 40
WIDTH, HEADS, VOCABULARY = 48, 2, 11  # one-hot positions need a width of at least the context
CONNECTIONS = ("pre-norm", "post-norm")
NORMS = ("layer", "rms", "batch", "none")


@cache
def combinations(kind: str, causal: bool) -> tuple[tuple[str, str], ...]:
    """Every (attention, position) that the catalogue allows in a model of this kind."""
    pairs = ((attention, position) for attention in catalogue.names("attention") for position in catalogue.names("position"))
    return tuple(pair for pair in pairs if _fits(model_spec(kind, causal, *pair)))


def model_spec(kind: str, causal: bool, attention: str, position: str, **fields: Any) -> ModelSpec:
    """A small model of a kind: a decoder, or an encoder with or without the causal mask, with a head for the next token."""
    own = {} if kind == "decoder" else {"causal": causal}
    head = HeadSpec("next-token" if causal else "masked-token")
    sizes = {"width": WIDTH, "heads": HEADS, "layers": 2, "own": own, "head": head, "attention": attention}
    return ModelSpec(kind=kind, position=position, **{**sizes, **fields})


def random_model(spec: ModelSpec, generator: torch.Generator) -> nn.Module:
    """The model with initial weights from the generator, and random numbers added so that gains and biases vary too."""
    model = models.build(spec, VOCABULARY, CONTEXT, seed=draw(generator, 0, 2**31 - 1)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


def random_fields(generator: torch.Generator) -> dict[str, Any]:
    """Random other choices of a spec: connection, norm, number of layers, activation, bias and tied weights."""

    def choice(values: tuple[Any, ...]) -> Any:
        return values[draw(generator, 0, len(values) - 1)]

    return {
        "connection": choice(CONNECTIONS),
        "norm": choice(NORMS),
        "layers": draw(generator, 1, 3),
        "activation": choice(("relu", "gelu", "swiglu")),
        "bias": choice((False, True)),
        "tied": choice((False, True)),
    }


def random_tokens(generator: torch.Generator, batch: int = 2) -> torch.Tensor:
    """Random tokens (batch, time) of a random length up to the context."""
    return torch.randint(0, VOCABULARY, (batch, draw(generator, 2, CONTEXT)), generator=generator)


def draw_combinations(kind: str, causal: bool, generator: torch.Generator) -> tuple[tuple[str, str], ...]:
    """A quarter of the combinations, drawn at random: many draws try all of them."""
    return combinations(kind, causal)[draw(generator, 0, 3) :: 4]


def _fits(spec: ModelSpec) -> bool:
    try:
        models.check(spec, CONTEXT)
    except SpecError:
        return False
    return True
