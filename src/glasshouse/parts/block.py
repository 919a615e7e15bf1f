"""A Transformer block: attention, cross-attention in some decoders, and a feed-forward part.

Each is joined to the residual stream by a connection.
"""

from torch import Tensor, nn

from glasshouse.parts.attention.base import Attention, FirstValues
from glasshouse.parts.attention.cross import CrossAttention
from glasshouse.parts.cache import LayerCache, Memory
from glasshouse.parts.connection import Connection
from glasshouse.parts.feed_forward import FeedForward
from glasshouse.parts.masks import Mask
from glasshouse.parts.probe import Probe


class Block(nn.Module):
    """x -> connection(x, attention) -> connection(x, feed-forward).

    In between, x -> connection(x, cross-attention to the memory), if the block has one.
    """

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
        """FLOPs of the matrix products in the forward pass of one sequence and its source."""
        crossed = 0 if self.cross_attention is None else self.cross_attention.flops(queries, source)
        return self.attention.flops(queries, keys, causal) + crossed + self.feed_forward.flops(queries)

    def empty_cache(self, batch: int, slots: int, like: Tensor, memory: Memory | None) -> LayerCache:
        """An empty cache with the dtype and device of `like`, with the keys and values of a memory to attend to."""
        source = None if memory is None or self.cross_attention is None else self.cross_attention.keys_and_values(memory)
        return self.attention.empty_cache(batch, slots, like, source)
