"""Claim: relative attention can be a convolution."""

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims.claim import GROUPS, Quantity
from glasshouse.claims.random_check import RandomCheck, differing, draw
from glasshouse.claims.rules import zero

# Bias of the distance i - j, and the factor W_V. Every other distance has minus infinity.
REPORTED = ({-1: math.log(2), 1: -math.log(2)}, 3.0)
REPAIRED = ({1: math.log(2), -1: 0.0}, 3.0)


class ConvolutionByAttention(RandomCheck):
    """Compares relative attention with fixed weights to the convolution with the kernel [2, 0, 1]."""

    group = GROUPS[0]
    statement = (
        "Relative attention with W_Q = W_K = 0, biases ln 2 for the distance -1 and -ln 2 for the distance 1, minus "
        "infinity elsewhere, and W_V = 3 is the convolution with the kernel [2, 0, 1]."
    )
    source = "course work on attention: a construction"
    reported = "p(-1) = ln 2, p(0) = minus infinity, p(1) = -ln 2, W_V = 3"
    why = "Without queries and keys the weights depend on distances alone, as those of a convolution do."
    procedure = (
        "Random sequences of numbers go through softmax(p(i - j)) 3 x with the reported biases p, and through the "
        "convolution y_i = 2 x_(i-1) + x_(i+1). Away from the edges the outputs must be equal to 1e-5. Beside it, the "
        "repaired biases: ln 2 for the distance 1, which is the token before, and 0 for the distance -1."
    )
    would_change = (
        "Nothing: the reported biases are those of a logistic function. A softmax of ln 2 and -ln 2 gives 4/5 and 1/5 "
        "instead of 2/3 and 1/3, and on swapped sides."
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "reported": Quantity("outputs that differ from the convolution, reported biases", "count", "numbers"),
        "repaired": Quantity("outputs that differ from the convolution, repaired biases", "count", "numbers"),
        "weight/reported": Quantity("weight of the token before, reported biases", "weight"),
        "weight/repaired": Quantity("weight of the token before, repaired biases", "weight", reported="2/3"),
    }
    parts = (
        zero("reported", name="the reported biases give the convolution"),
        zero("repaired", name="repaired: ln 2 for the token before, 0 for the token after", decides=False),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        x = torch.randn(draw(generator, 8, 64), generator=generator)
        expected = 2 * x[:-2] + x[2:]
        values: dict[str, float] = {}
        for name, (biases, factor) in (("reported", REPORTED), ("repaired", REPAIRED)):
            weights = _weights(len(x), biases)
            values[name] = differing((weights @ (factor * x))[1:-1], expected)
            values[f"weight/{name}"] = float(weights[2, 1])
        return values


def _weights(length: int, biases: Mapping[int, float]) -> Tensor:
    """The softmax over the biases of distances i - j; other distances have minus infinity."""
    distance = torch.arange(length)[:, None] - torch.arange(length)
    scores = torch.full((length, length), -torch.inf)
    for value, bias in biases.items():
        scores[distance == value] = bias
    return scores.softmax(-1)
