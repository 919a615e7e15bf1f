"""Cross-attention: one sequence attends to another (Bahdanau et al. 2015; Vaswani et al. 2017)."""

import torch
from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention
from glasshouse.parts.cache import LayerCache, Memory
from glasshouse.parts.capabilities import require
from glasshouse.specs.errors import SpecError


class CrossAttention(nn.Module):
    """Any attention whose queries come from one sequence of n tokens, its keys and values from another of m tokens.

    With dot products: concat over heads of softmax(Q_h K_h^T / sqrt(E)) V_h, times W_O. Costs n m h + (n + m) h^2
    operations. Tokens of different sequences have no distance, so the attention must not have a position part.
    """

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        require(type(attention), "cross", f"CrossAttention of {type(attention).__name__}")
        if attention.position.mechanism:
            raise SpecError(
                f"{type(attention.position).__name__} has no meaning between two sequences; "
                "build the attention without a position"
            )
        self.attention = attention

    def forward(self, x: Tensor, memory: Memory, positions: Tensor | None = None, cache: LayerCache | None = None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        keys, values = self.keys_and_values(memory) if cache is None or cache.source is None else cache.source
        return self.attention.attend_to(x, keys, values, memory.mask, positions)

    def keys_and_values(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """Keys and values of the source. They stay the same during generation, so a cache can keep them."""
        return self.attention.keys_and_values(memory.states)

    def flops(self, queries: int, source: int) -> int:
        return self.attention.flops(queries, source, causal=False)
