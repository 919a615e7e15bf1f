"""Claim: the gradients of a recurrent network, as course work derived them by hand. Checked against autograd."""

from collections.abc import Mapping
from dataclasses import fields
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, differing
from glasshouse.claims.recurrent.unrolled_network import (
    Weights,
    draw_graph,
    hand_written_gradients,
    output_gradient,
    run_forward,
    state_gradient,
)
from glasshouse.claims.rules import zero

STEPS, INPUT, STATE, OUTPUT = 3, 3, 4, 2
TOLERANCE = 1e-10
# The figure: distances t - i in a longer network, and spectral radii of W_hh.
DISTANCES = (0, 1, 2, 4, 8, 12)
RADII = (0.7, 1.3)
AUTOGRAD, NO_POWER = "autograd", "without the power"


class BackpropagationThroughTime(RandomCheck):
    """Compares each derived formula, the others being right, with what automatic differentiation gives."""

    group = GROUPS[2]
    statement = (
        "In a linear recurrent network (h_t = W_hh h_(t-1) + W_hx x_t, y^ = softmax of the outputs o_t, cross-entropy J_t): "
        "o_t is h_t; dJ_t/do_t is the elementwise product of dJ_t/dy^_t and dy^_t/do_t; dJ_t/dh_i = W_hh^T W_yh^T "
        "dJ_t/do_t for every i < t; and dJ_t/dW_hh = (dJ_t/dh_t) h_(t-1)^T."
    )
    source = "course work on gradients: a derivation by hand"
    reported = "an elementwise dJ_t/do_t, o_t without W_yh, dJ_t/dh_i without a power of W_hh, dJ_t/dW_hh without a sum"
    why = (
        "Each formula is right in a simpler case: for an output that depends on its own score alone, as a sigmoid does; one "
        "step back in time; for a matrix that is used once. Here every output depends on every score, each step back "
        "multiplies by W_hh^T once more, and each use of W_hh adds to its gradient."
    )
    procedure = (
        f"Random networks with x in R^{INPUT}, h in R^{STATE} and y in R^{OUTPUT} run for {STEPS} steps from h_0 = 0, in "
        "float64, with random targets that sum to 1. Each reported formula is tried by itself, with everything before it "
        f"right, and must equal autograd's gradient within {TOLERANCE:g} in every entry; that o_t is h_t is tried with y in "
        f"R^{STATE}, because otherwise the sizes do not even fit. Beside it the repaired formulas: dJ_t/do_t = y^_t - y_t, "
        "dJ_t/dh_i = (W_hh^T)^(t-i) W_yh^T (y^_t - y_t), dJ_t/dW_hh = the sum over i <= t of (dJ_t/dh_i) h_(i-1)^T, and a "
        "whole backward pass written by hand, for the gradients of J = J_1 + J_2 + J_3 by all three matrices."
    )
    would_change = (
        "Two steps from h_0 = 0: there the power is 1 and the sum has one term that is not 0, so two of the four errors "
        "cannot be seen. An activation other than the identity adds its slope at every step to the formulas."
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "elementwise": Quantity("entries of dJ_t/do_t that differ, elementwise product", "count", "of 6 entries"),
        "no-matrix": Quantity("entries of dJ_t/dh_t that differ, o_t = h_t and y in R^4", "count", "of 12 entries"),
        "no-power": Quantity("entries of dJ_t/dh_i that differ, i < t, without the power", "count", "of 12 entries"),
        "no-sum": Quantity("entries of dJ_t/dW_hh that differ, without the sum", "count", "of 48 entries"),
        "output": Quantity("entries of dJ_t/do_t that differ, y^_t - y_t", "count", "of 6 entries"),
        "power": Quantity("entries of dJ_t/dh_i that differ, i <= t, with the power", "count", "of 24 entries"),
        "sum": Quantity("entries of dJ_t/dW_hh that differ, with the sum", "count", "of 48 entries"),
        "backward": Quantity("entries of the three gradients of J that differ", "count", "of 36 entries"),
        **{
            f"{kind}/{radius}/{distance}": Quantity(
                f"size of dJ_t/dh_i, {kind}, t - i = {distance}, spectral radius {radius}", "Euclidean norm"
            )
            for kind in (AUTOGRAD, NO_POWER)
            for radius in RADII
            for distance in DISTANCES
        },
    }
    parts = (
        zero("elementwise", name="dJ_t/do_t is an elementwise product"),
        zero("no-matrix", name="o_t is h_t, without W_yh"),
        zero("no-power", name="dJ_t/dh_i = W_hh^T W_yh^T dJ_t/do_t for every i < t"),
        zero("no-sum", name="dJ_t/dW_hh = (dJ_t/dh_t) h_(t-1)^T"),
        zero("output", name="repaired: dJ_t/do_t = y^_t - y_t", decides=False),
        zero("power", name="repaired: dJ_t/dh_i = (W_hh^T)^(t-i) W_yh^T (y^_t - y_t)", decides=False),
        zero("sum", name="repaired: dJ_t/dW_hh = sum over i <= t of (dJ_t/dh_i) h_(i-1)^T", decides=False),
        zero(
            "backward", name="repaired: the hand-written backward pass gives dJ/dW_hh, dJ/dW_hx and dJ/dW_yh", decides=False
        ),
    )
    figures = (
        draw_graph(STEPS),
        LineFigure(
            "power",
            "t - i",
            "size of dJ_t/dh_i",
            {
                f"{kind}, spectral radius {radius}": {distance: f"{kind}/{radius}/{distance}" for distance in DISTANCES}
                for radius in RADII
                for kind in (AUTOGRAD, NO_POWER)
            },
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        weights, inputs, targets = random_network(generator, STEPS, OUTPUT)
        values = {**compare_formulas(weights, inputs, targets), "no-matrix": 0.0}
        square, inputs, targets = random_network(generator, STEPS, STATE)
        forward = run_forward(square, inputs, targets)
        for state, loss, target in zip(forward.states[1:], forward.losses, targets, strict=True):
            values["no-matrix"] += _differing(_gradient(loss, state), state.softmax(-1) - target)
        return values | _sizes(generator)


def random_network(generator: torch.Generator, steps: int, output: int) -> tuple[Weights, Tensor, Tensor]:
    """Random weights, inputs, and targets that sum to 1."""
    shapes = ((STATE, STATE), (STATE, INPUT), (output, STATE))
    weights = Weights(*(torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes))
    inputs = torch.randn(steps, INPUT, generator=generator, dtype=torch.float64)
    targets = torch.randn(steps, output, generator=generator, dtype=torch.float64).softmax(-1)
    for field in fields(weights):
        getattr(weights, field.name).requires_grad_()
    return weights, inputs, targets


def compare_formulas(weights: Weights, inputs: Tensor, targets: Tensor) -> dict[str, float]:
    """Formula -> the number of entries that differ from autograd's."""
    forward = run_forward(weights, inputs, targets)
    values = dict.fromkeys(("elementwise", "no-power", "no-sum", "output", "power", "sum"), 0.0)
    for t, (loss, prediction, target) in enumerate(zip(forward.losses, forward.predictions, targets, strict=True), start=1):
        scores = (weights.yh @ forward.states[t]).detach().requires_grad_()
        by_output = _gradient(-(target * scores.log_softmax(-1)).sum(), scores)
        error = output_gradient(prediction, target)
        values["output"] += _differing(error, by_output)
        # dJ_t/dy^ is -y / y^, and the elementwise slope of the softmax is y^ (1 - y^): the diagonal of its Jacobian.
        values["elementwise"] += _differing(-target * (1 - prediction), by_output)
        by_state = {i: _gradient(loss, forward.states[i]) for i in range(1, t + 1)}
        for i, expected in by_state.items():
            values["power"] += _differing(state_gradient(weights, error, t - i), expected)
            if i < t:
                values["no-power"] += _differing(state_gradient(weights, error, 1), expected)
        by_weights = _gradient(loss, weights.hh)
        terms = [torch.outer(state_gradient(weights, error, t - i), forward.states[i - 1]) for i in by_state]
        values["sum"] += _differing(torch.stack(terms).sum(0), by_weights)
        values["no-sum"] += _differing(terms[-1], by_weights)
    by_hand = hand_written_gradients(weights, forward, inputs, targets)
    total = torch.stack(forward.losses).sum()
    values["backward"] = sum(
        _differing(getattr(by_hand, field.name), _gradient(total, getattr(weights, field.name))) for field in fields(weights)
    )
    return values


def _sizes(generator: torch.Generator) -> dict[str, float]:
    """The sizes of dJ_t/dh_i at every distance of the figure, in networks whose W_hh has a given spectral radius."""
    weights, inputs, targets = random_network(generator, max(DISTANCES) + 1, OUTPUT)
    values = {}
    for radius in RADII:
        largest = torch.linalg.eigvals(weights.hh.detach()).abs().max()
        scaled = Weights((weights.hh.detach() * radius / largest).requires_grad_(), weights.hx, weights.yh)
        forward = run_forward(scaled, inputs, targets)
        error = output_gradient(forward.predictions[-1], targets[-1])
        for distance in DISTANCES:
            gradient = _gradient(forward.losses[-1], forward.states[len(inputs) - distance])
            values[f"{AUTOGRAD}/{radius}/{distance}"] = float(gradient.norm())
            # The reported formula is for i < t; at i = t nothing was left out.
            without = state_gradient(scaled, error, min(distance, 1))
            values[f"{NO_POWER}/{radius}/{distance}"] = float(without.detach().norm())
    return values


def _gradient(value: Tensor, variable: Tensor) -> Tensor:
    """The gradient by autograd; 0 if the value does not depend on the variable."""
    [gradient] = torch.autograd.grad(value, variable, retain_graph=True, allow_unused=True, materialize_grads=True)
    return gradient


def _differing(left: Tensor, right: Tensor) -> float:
    return differing(left.detach(), right, TOLERANCE)
