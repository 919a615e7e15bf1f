"""A Transformer block: attention, perhaps cross-attention (Bahdanau et al. 2015), and a feed-forward part, connected."""

import torch
from torch import Tensor, nn

from glasshouse.parts import linear
from glasshouse.parts.attention.base import Attention, FirstValues
from glasshouse.parts.cache import LayerCache, Memory
from glasshouse.parts.capabilities import require
from glasshouse.parts.connection import Connection
from glasshouse.parts.feed_forward import FeedForward
from glasshouse.parts.masks import Mask
from glasshouse.parts.probe import Probe
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
            kind = type(attention.position).__name__
            raise SpecError(f"{kind} has no meaning between two sequences; build the attention without a position")
        self.attention = attention

    def forward(self, x: Tensor, memory: Memory, positions: Tensor | None = None, cache: LayerCache | None = None) -> Tensor:
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        keys, values = self.keys_and_values(memory) if cache is None or cache.source is None else cache.source
        return self.attention.attend_to(x, keys, values, memory.mask, positions)

    def keys_and_values(self, memory: Memory) -> tuple[Tensor, Tensor]:
        """Keys and values of the source. They stay the same during generation, so a cache can keep them."""
        return self.attention.keys_and_values(memory.states)


class Block(nn.Module):
    """x -> connection(x, attention) -> connection(x, cross-attention), if there is one -> connection(x, feed-forward)."""

    def __init__(
        self,
        attention: Attention,
        feed_forward: FeedForward,
        attention_connection: Connection,
        feed_forward_connection: Connection,
        cross_attention: CrossAttention | None = None,
        cross_connection: Connection | None = None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.attention_connection = attention_connection
        self.cross_connection = cross_connection
        self.feed_forward_connection = feed_forward_connection
        self.middle = Probe()
        self.crossed = None if cross_attention is None else Probe()
        self.output = Probe()

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        positions: Tensor | None = None,
        cache: LayerCache | None = None,
        memory: Memory | None = None,
        first_values: FirstValues | None = None,
    ) -> Tensor:
        x = self.attention_connection(x, lambda stream: self.attention(stream, mask, positions, cache, first_values))
        x = self.middle(x)
        if self.cross_attention is not None and self.cross_connection is not None and self.crossed is not None:
            attend = self.cross_attention
            x = self.crossed(self.cross_connection(x, lambda stream: attend(stream, memory, positions, cache)))
        return self.output(self.feed_forward_connection(x, self.feed_forward))

    def flops(self, queries: int, keys: int, causal: bool, source: int = 0) -> int:
        attention = self.attention.flops(queries, keys, causal)
        if self.cross_attention is not None:
            attention += self.cross_attention.attention.flops(queries, source, causal=False)
        return attention + linear.flops(self.feed_forward, queries)

    def empty_cache(self, batch: int, slots: int, like: Tensor, memory: Memory | None) -> LayerCache:
        """An empty cache with the dtype and device of `like`, with the keys and values of a memory to attend to."""
        source = None if memory is None or self.cross_attention is None else self.cross_attention.keys_and_values(memory)
        return self.attention.empty_cache(batch, slots, like, source)
