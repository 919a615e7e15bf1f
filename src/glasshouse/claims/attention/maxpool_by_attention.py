"""Claim: relative attention can be max pooling."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, draw
from glasshouse.claims.rules import lower, zero

SHARPNESS = (1, 10, 100, 1000, 10000)
# An output this close to the maximum counts as it.
CLOSE = 0.01


class MaxPoolingByAttention(RandomCheck):
    """Compares attention within a window, with W_Q = b and W_K = W_V = 1, to the maximum of the window."""

    group = GROUPS[0]
    statement = (
        "Relative attention with W_Q = W_K = W_V = 1, a bias of 0 within a window and minus infinity outside, is max "
        "pooling over the window for numbers that are not negative."
    )
    source = "course work on attention: a construction"
    reported = "W_Q = W_K = W_V = 1, p = 0 within 2k + 1 places, minus infinity outside"
    why = "The score of a neighbour is the product of two numbers, so the largest neighbour has the largest score."
    procedure = (
        "Random sequences of numbers between 0 and 1 go through softmax(x_i x_j) x within a window of random size, and "
        "through max pooling over the same window. An output within 0.01 of the maximum counts as it; all must. Beside "
        "it, W_Q = b with b from 1 to 10,000: the errors for random numbers, and whether a token of exactly 0 gives "
        "the mean of its window."
    )
    would_change = (
        "A query that does not depend on the token: with x_i = 0 all scores are equal, and attention gives the mean for "
        "every b. Where x_i is above 0 the error falls as b grows, slowly."
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "reported": Quantity("outputs that are not within 0.01 of the maximum, b = 1", "count", "numbers"),
        "mean-at-zero": Quantity("tokens of 0 whose output is not the mean of the window", "count", "tokens"),
        **{f"error/{b}": Quantity(f"mean error, b = {b:,}", "mean difference") for b in SHARPNESS},
        **{f"largest/{b}": Quantity(f"largest error of a sequence, b = {b:,}", "largest difference") for b in SHARPNESS},
    }
    parts = (
        zero("reported", name="every output is the maximum of its window"),
        zero("mean-at-zero", name="a token of 0 gives the mean of its window, for every b", decides=False),
        lower("error/1000", than="error/1", margin=0.01, name="the error falls from b = 1 to b = 1,000", decides=False),
    )
    figures = (
        LineFigure(
            "error",
            "b",
            "error",
            {"mean": {b: f"error/{b}" for b in SHARPNESS}, "largest of a sequence": {b: f"largest/{b}" for b in SHARPNESS}},
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        x = torch.rand(draw(generator, 16, 64), generator=generator, dtype=torch.float64)
        reach = draw(generator, 1, 4)
        inside = (torch.arange(len(x))[:, None] - torch.arange(len(x))).abs() <= reach
        largest = torch.where(inside, x, 0.0).amax(-1)
        values = {"reported": float(((_pool(x, inside, 1.0) - largest).abs() > CLOSE).sum())}
        with_zero = x.clone()
        with_zero[len(x) // 2] = 0.0
        mean = with_zero[inside[len(x) // 2]].mean()
        outputs = [_pool(with_zero, inside, float(b))[len(x) // 2] for b in SHARPNESS]
        values["mean-at-zero"] = float(sum(bool((output - mean).abs() > 1e-9) for output in outputs))
        for b in SHARPNESS:
            errors = (_pool(x, inside, float(b)) - largest).abs()
            values[f"error/{b}"], values[f"largest/{b}"] = float(errors.mean()), float(errors.max())
        return values


def _pool(x: Tensor, inside: Tensor, b: float) -> Tensor:
    scores = (b * x[:, None] * x).masked_fill(~inside, -torch.inf)
    return scores.softmax(-1) @ x
