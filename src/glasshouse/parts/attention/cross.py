"""Cross-attention: one sequence looks at another (Bahdanau et al. 2015; Vaswani et al. 2017)."""

from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention
from glasshouse.parts.cache import LayerCache
from glasshouse.parts.memory import Memory


class CrossAttention(nn.Module):
    """Any attention, its queries from one sequence of n tokens, its keys and values from another of m.

    With dot products: concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O. Costs n m h + (n + m) h^2.
    Positions of different sequences have no distance, so no position acts here.
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        self.attention = attention

    def forward(self, x: Tensor, memory: Memory, positions: Tensor, cache: LayerCache | None = None) -> Tensor:
        keys, values = self.remember(memory) if cache is None or cache.source is None else cache.source
        return self.attention.look(x, keys, values, memory.mask, positions)

    def remember(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """The source's keys and values, which generation keeps."""
        return self.attention.remember(memory.states)

    def flops(self, queries: int, source: int) -> int:
        return self.attention.flops(queries, source, causal=False)
