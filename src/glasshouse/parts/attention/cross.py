"""Cross-attention: one sequence looks at another (Bahdanau et al. 2015; Vaswani et al. 2017)."""

import torch
from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention
from glasshouse.parts.cache import LayerCache
from glasshouse.parts.capabilities import require
from glasshouse.parts.memory import Memory
from glasshouse.specs.errors import SpecError


class CrossAttention(nn.Module):
    """Any attention, its queries from one sequence of n tokens, its keys and values from another of m.

    With dot products: concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O. Costs n m h + (n + m) h^2.
    Positions of different sequences have no distance, so no position acts here.
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        require(type(attention), "cross", f"CrossAttention of {type(attention).__name__}")
        if attention.position.acts:
            raise SpecError(
                "position-in-wrong-place",
                f"{type(attention.position).__name__} has no meaning between two sequences; give none",
            )
        self.attention = attention

    def forward(self, x: Tensor, memory: Memory, positions: Tensor | None = None, cache: LayerCache | None = None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        keys, values = self.remember(memory) if cache is None or cache.source is None else cache.source
        return self.attention.look(x, keys, values, memory.mask, positions)

    def remember(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """The source's keys and values, which generation keeps."""
        return self.attention.remember(memory.states)

    def flops(self, queries: int, source: int) -> int:
        return self.attention.flops(queries, source, causal=False)
