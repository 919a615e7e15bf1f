"""A Transformer block: an attention and a feed-forward part, each joined to the residual stream by a connection."""

from torch import Tensor, nn

from glasshouse.parts.cache import LayerCache
from glasshouse.parts.first_values import FirstValues
from glasshouse.parts.masks import Mask
from glasshouse.parts.memory import Memory
from glasshouse.parts.probe import Probe


class Block(nn.Module):
    """x -> connection(x, attention) -> connection(x, feed-forward)."""

    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        attention_connection: nn.Module,
        feed_forward_connection: nn.Module,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_connection = attention_connection
        self.feed_forward_connection = feed_forward_connection
        self.middle = Probe()
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
        # An attention of another package may know no value residual.
        shared = {} if getattr(self.attention, "value_shares", None) is None else {"first_values": first_values}
        x = self.attention_connection(x, lambda stream: self.attention(stream, mask, positions, cache, **shared))
        x = self.feed_forward_connection(self.middle(x), self.feed_forward)
        return self.output(x)

    def flops(self, queries: int, keys: int, causal: bool, source: int = 0) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence."""
        return self.attention.flops(queries, keys, causal) + self.feed_forward.flops(queries)  # type: ignore[operator]
