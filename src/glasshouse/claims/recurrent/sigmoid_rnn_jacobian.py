"""Claim: the Jacobian of a sigmoid recurrent network with small weights vanishes exponentially."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, draw
from glasshouse.claims.rules import zero

STEPS = (1, 2, 4, 8, 12)


class SigmoidRNNJacobian(RandomCheck):
    """Computes the Jacobian of x_(t+1) = sigmoid(W x_t) through many steps, with s_max(W) = 1/4."""

    group = GROUPS[2]
    statement = (
        "For x_(t+1) = sigmoid(W x_t) with the largest singular value of W at 1/4, that of the Jacobian dx_n / dx_1 is at "
        "most (1/16)^(n-1)."
    )
    source = "course work on gradients: a derivation"
    reported = "0 <= s_max <= (1/16)^(n-1), by W^i = U S^i V^T"
    why = "The slope of a sigmoid is at most 1/4, and each step multiplies by W once more."
    procedure = (
        "Random matrices W are scaled to a largest singular value of 1/4. The Jacobian is computed by automatic "
        "differentiation in float64 from random points, through up to 12 steps, and its largest singular value is "
        "compared with the bound. Beside it, the step of the reported proof: W^i = U S^i V^T, from W = U S V^T."
    )
    would_change = (
        "Larger weights: with a largest singular value above 4 the bound grows with n. The reported step of the proof is "
        "wrong for a general W, since V^T U is not the identity; that s_max(A B) is at most s_max(A) s_max(B) proves the "
        "bound."
    )
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "bound": Quantity("Jacobians above the bound", "count", "of 12 Jacobians"),
        "proof": Quantity("matrices whose square is not U S^2 V^T", "count", "matrices"),
        **{f"measured/{n}": Quantity(f"largest singular value after {n} steps", "s_max") for n in STEPS},
        **{f"bound/{n}": Quantity(f"the bound after {n} steps", "(1/16)^n") for n in STEPS},
    }
    parts = (
        zero("bound", name="the largest singular value is at most (1/16)^(n-1)"),
        zero("proof", name="the step of the reported proof: W^2 = U S^2 V^T", decides=False),
    )
    figures = (
        LineFigure(
            "decay",
            "steps",
            "largest singular value",
            {
                "measured": {n: f"measured/{n}" for n in STEPS},
                "bound": {n: f"bound/{n}" for n in STEPS},
            },
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        size = draw(generator, 2, 16)
        matrix = torch.randn(size, size, generator=generator, dtype=torch.float64)
        matrix = matrix / torch.linalg.matrix_norm(matrix, 2) / 4
        left, scales, right = torch.linalg.svd(matrix)
        wrong = left @ torch.diag(scales**2) @ right
        values = {"proof": float(bool(((matrix @ matrix - wrong).abs() > 1e-9).any()))}
        largest = _largest_singular_values(matrix, max(STEPS), generator)
        bounds = [16.0 ** -(n + 1) for n in range(max(STEPS))]
        values["bound"] = float(sum(value > bound * (1 + 1e-9) for value, bound in zip(largest, bounds, strict=True)))
        for n in STEPS:
            values[f"measured/{n}"], values[f"bound/{n}"] = largest[n - 1], bounds[n - 1]
        return values


def _largest_singular_values(matrix: Tensor, steps: int, generator: torch.Generator) -> list[float]:
    """s_max of dx_(t+1) / dx_1 after each step, from a random x_1."""
    start = torch.randn(len(matrix), generator=generator, dtype=torch.float64)
    values = []
    for count in range(1, steps + 1):

        def state(x: Tensor, count: int = count) -> Tensor:
            for _ in range(count):
                x = torch.sigmoid(matrix @ x)
            return x

        jacobian = torch.autograd.functional.jacobian(state, start)
        values.append(float(torch.linalg.matrix_norm(jacobian, 2)))
    return values
