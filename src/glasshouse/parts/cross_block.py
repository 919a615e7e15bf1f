"""A decoder block with cross-attention: attention, cross-attention and feed-forward, each joined by a connection."""

from torch import Tensor, nn

from glasshouse.parts.cache import LayerCache
from glasshouse.parts.masks import Mask
from glasshouse.parts.memory import Memory
from glasshouse.parts.probe import Probe


class CrossBlock(nn.Module):
    """x -> connection(x, attention) -> connection(x, cross-attention to the memory) -> connection(x, feed-forward)."""

    def __init__(
        self,
        attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        attention_connection: nn.Module,
        cross_connection: nn.Module,
        feed_forward_connection: nn.Module,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.attention_connection = attention_connection
        self.cross_connection = cross_connection
        self.feed_forward_connection = feed_forward_connection
        self.middle, self.crossed = Probe(), Probe()
        self.output = Probe()

    def forward(
        self,
        x: Tensor,
        mask: Mask | None = None,
        positions: Tensor | None = None,
        cache: LayerCache | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        x = self.attention_connection(x, lambda stream: self.attention(stream, mask, positions, cache))
        x = self.cross_connection(self.middle(x), lambda stream: self.cross_attention(stream, memory, positions, cache))
        x = self.feed_forward_connection(self.crossed(x), self.feed_forward)
        return self.output(x)

    def flops(self, queries: int, keys: int, causal: bool, source: int = 0) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence and its source."""
        block = self.attention.flops(queries, keys, causal) + self.feed_forward.flops(queries)  # type: ignore[operator]
        return block + self.cross_attention.flops(queries, source)  # type: ignore[operator]
