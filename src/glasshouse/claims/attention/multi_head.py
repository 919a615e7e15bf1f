"""Claim: one fused computation of all heads equals a loop over heads."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from glasshouse.claims.claim import GROUPS, Quantity
from glasshouse.claims.random_check import RandomCheck, differing, draw
from glasshouse.claims.rules import zero
from glasshouse.parts import MultiHeadAttention
from glasshouse.parts.masks import Causal


class MultiHead(RandomCheck):
    """Computes multi-head attention by the fused path and by a loop that follows the formula."""

    group = GROUPS[0]
    statement = "One fused computation of all heads equals a loop over heads."
    source = "Vaswani et al., Attention Is All You Need, 2017; course work on attention"
    reported = "concat(head 1, ..., head h) W_O"
    why = "Heads do not see each other before W_O, so the order in which they are computed cannot matter."
    procedure = (
        "A multi-head attention with random weights, heads and input is computed in one call, and by a loop: for each "
        "head, softmax(Q K^T / sqrt(d)) V under the causal mask, then the concatenation times W_O. Outputs, and the "
        "gradients of their sum with random weights by the input and by both matrices, are compared. Numbers that differ "
        "by less than 1e-5 of the largest are the same."
    )
    would_change = "A number format so coarse that the order of additions shows."
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "forward": Quantity("outputs that differ", "count", "numbers"),
        "gradient": Quantity("entries of gradients that differ", "count", "numbers"),
    }
    parts = (zero("forward", name="the outputs are equal"), zero("gradient", name="the gradients are equal"))

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        torch.manual_seed(draw(generator, 0, 2**31 - 1))
        heads = draw(generator, 1, 8)
        attention = MultiHeadAttention(heads * draw(generator, 2, 16), heads)
        x = torch.randn(2, draw(generator, 2, 24), attention.width, generator=generator).requires_grad_()
        fused, loop = attention(x, Causal()), _loop(attention, x)
        direction = torch.randn(fused.shape, generator=generator)
        wanted = (x, attention.projection.weight, attention.output.weight)
        gradients = [torch.autograd.grad((output * direction).sum(), wanted) for output in (fused, loop)]
        counts = [_differing_by_share(*pair) for pair in zip(*gradients, strict=True)]
        return {"forward": _differing_by_share(fused, loop), "gradient": sum(counts)}


def _loop(attention: MultiHeadAttention, x_BTD: Tensor) -> Tensor:
    """The formula, one head at a time."""
    queries, keys, values = attention.projection(x_BTD).chunk(3, -1)
    width = attention.head_width
    later = torch.ones(x_BTD.shape[1], x_BTD.shape[1], dtype=torch.bool).triu(1)
    outputs = []
    for head in range(attention.heads):
        q, k, v = (part[..., head * width : (head + 1) * width] for part in (queries, keys, values))
        scores = (q @ k.transpose(-2, -1) / width**0.5).masked_fill(later, -torch.inf)
        outputs.append(scores.softmax(-1) @ v)
    return attention.output(torch.cat(outputs, -1))


def _differing_by_share(left: Tensor, right: Tensor) -> float:
    return differing(left, right, 1e-5 * max(float(right.detach().abs().max()), 1.0))
