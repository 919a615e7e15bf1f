"""Claim: the gradient of a chain of ReLU layers is at most the product of its weights and vanishes if they are small."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, draw
from glasshouse.claims.rules import zero

DEPTHS = (1, 2, 4, 8, 16, 32)


class ReLUChain(RandomCheck):
    """Differentiates chains f(x) = relu(w_n relu(... relu(w_1 x + b_1) ...) + b_n) of random weights and biases."""

    group = GROUPS[2]
    statement = (
        "The gradient of a chain of scalar ReLU layers is at most the product of the sizes of their weights; it cannot "
        "vanish if all weights are above 1, and it vanishes with depth if all are below 1."
    )
    source = "course work on gradients: a derivation"
    reported = "0 <= |df/dx| <= product of w_i; weights above 1 cannot vanish, weights below 1 vanish"
    why = "Each layer passes the gradient on times its weight, or stops it."
    procedure = (
        "Random chains of up to 32 scalar ReLU layers with biases are differentiated. Three things must hold: the "
        "gradient is at most the product of the sizes of the weights (from -2 to 2); with all weights from 1 to 2 it is "
        "never 0; with all weights from -2 to 1 it is below 0.01 in size after 32 layers, at points where every unit is "
        "active. Beside it, weights whose size is below 0.8, at such points."
    )
    would_change = (
        "A chain without biases at a positive point, whose units are never negative: there weights above 1 cannot vanish. "
        "Below 1 must mean the size: a weight of -2 is below 1 and doubles the gradient."
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "bound": Quantity("chains whose gradient exceeds the product of sizes", "count", "chains"),
        "above": Quantity("chains with all weights above 1 whose gradient is 0", "count", "of 16 chains"),
        "below": Quantity("chains with weights below 1 whose gradient is above 0.01 in size", "count", "of 16 chains"),
        "size-below": Quantity("chains with sizes below 0.8 whose gradient is above 0.01", "count", "of 16 chains"),
        **{f"share/{depth}": Quantity(f"chains of {depth} layers with a gradient of 0", "share") for depth in DEPTHS},
    }
    parts = (
        zero("bound", name="the gradient is at most the product of the sizes"),
        zero("above", name="with all weights above 1 the gradient is never 0"),
        zero("below", name="with all weights below 1 the gradient is below 0.01 after 32 layers"),
        zero("size-below", name="repaired: with all sizes below 0.8 it is below 0.01 after 32 layers", decides=False),
    )
    figures = (
        LineFigure(
            "dead",
            "layers",
            "share of gradients that are 0, weights above 1",
            {"chains": {depth: f"share/{depth}" for depth in DEPTHS}},
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        values = dict.fromkeys(("bound", "above", "below", "size-below"), 0.0)
        for _ in range(16):
            weights = _uniform(generator, draw(generator, 1, 32), -2.0, 2.0)
            values["bound"] += float(_gradient(weights, generator) > float(weights.abs().prod()) * (1 + 1e-9))
            values["above"] += float(_gradient(_uniform(generator, 32, 1.0, 2.0), generator) == 0)
            values["below"] += float(_gradient(_uniform(generator, 32, -2.0, 1.0), generator, active=True) > 0.01)
            values["size-below"] += float(_gradient(_uniform(generator, 32, -0.8, 0.8), generator, active=True) > 0.01)
        for depth in DEPTHS:
            chains = [_gradient(_uniform(generator, depth, 1.0, 2.0), generator) for _ in range(16)]
            values[f"share/{depth}"] = sum(gradient == 0 for gradient in chains) / len(chains)
        return values


def _uniform(generator: torch.Generator, count: int, low: float, high: float) -> Tensor:
    return low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)


def _gradient(weights: Tensor, generator: torch.Generator, active: bool = False) -> float:
    """|df/dx| at a random point, with random biases; with `active`, biases that keep every unit above 0."""
    x = torch.randn((), generator=generator, dtype=torch.float64).requires_grad_()
    value = x
    for weight in weights:
        bias = torch.randn((), generator=generator, dtype=torch.float64)
        if active:
            bias = (weight * value).detach().abs() + 1
        value = torch.relu(weight * value + bias)
    return abs(float(torch.autograd.grad(value, x)[0]))
