"""Claim: without softmax, attention of rank k is a product with two projections of length k."""

from collections.abc import Mapping
from typing import ClassVar

import torch

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, differing, draw
from glasshouse.claims.rules import zero

LENGTHS = (64, 256, 1024, 4096)


class LinearProjection(RandomCheck):
    """Finds the two projections by a singular value decomposition and checks the identity."""

    group = GROUPS[0]
    statement = (
        "Without softmax, if P = Q K^T / sqrt(h) has rank k, there are matrices C and D of k rows and n columns with P V "
        "= Q (C K)^T (D V)."
    )
    source = "course work on attention: a question on cost"
    reported = "left unanswered"
    why = "A matrix of rank k needs only k directions of its n columns."
    procedure = (
        "Random Q, K and V with a product of random rank k are drawn. With the decomposition P = U S R^T, the matrices "
        "are C = R_k^T / sqrt(h) and D = R_k^T. Both sides of the identity must agree to 1e-5 of the largest entry, in "
        "float64. Beside it, the multiplications that both sides need, at 64 to 4,096 tokens, width 64 and rank 16, once "
        "the projections are known."
    )
    would_change = "With a softmax the identity is lost: the softmax of a matrix of low rank has full rank."
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "identity": Quantity("entries at which the two sides differ", "count", "numbers"),
        "softmax": Quantity("entries at which they differ with a softmax in P", "count", "numbers"),
        **{
            f"{way}/{length}": Quantity(f"multiplications at {length:,} tokens, {way}", "count")
            for way in ("whole", "projected")
            for length in LENGTHS
        },
    }
    parts = (
        zero("identity", name="P V equals Q (C K)^T (D V)"),
        zero("softmax", name="the same with the softmax of P", decides=False),
    )
    figures = (
        LineFigure(
            "cost",
            "tokens",
            "multiplications",
            {way: {length: f"{way}/{length}" for length in LENGTHS} for way in ("whole", "projected")},
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        length, width = draw(generator, 8, 64), draw(generator, 4, 32)
        rank = draw(generator, 1, width)
        mixer = torch.randn(rank, width, generator=generator, dtype=torch.float64)
        queries, keys, values = (
            torch.randn(length, size, generator=generator, dtype=torch.float64) for size in (rank, width, width)
        )
        queries = queries @ mixer  # the product of Q and K has at most this rank
        scores = queries @ keys.T / width**0.5
        counts = {"identity": _differing(scores, queries, keys, values, width, scores)}
        counts["softmax"] = _differing(scores.softmax(-1), queries, keys, values, width, scores)
        for size in LENGTHS:
            counts[f"whole/{size}"] = float(2 * size * size * 64)
            counts[f"projected/{size}"] = float(2 * size * 16 * 64 + 2 * size * 16 * 64)
        return counts


def _differing(
    matrix: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, width: int, scores: torch.Tensor
) -> float:
    """The entries at which matrix V differs from Q (C K)^T (D V), with projections from the decomposition of the scores."""
    rank = int(torch.linalg.matrix_rank(scores))
    right = torch.linalg.svd(scores, full_matrices=False).Vh[:rank]
    projected = queries @ (right @ keys / width**0.5).T @ (right @ values)
    whole = matrix @ values
    return differing(whole, projected, 1e-5 * max(float(whole.abs().max()), 1.0))
