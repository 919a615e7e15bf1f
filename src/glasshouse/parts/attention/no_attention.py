"""No attention, for recurrent models."""

from typing import ClassVar

from torch import Tensor, nn

from glasshouse.parts.cache import LayerCache
from glasshouse.parts.masks import Mask


class NoAttention(nn.Module):
    """Returns zero, at no cost."""

    unsupported: ClassVar[dict[str, str]] = {
        "blocks": "a Transformer without attention cannot mix tokens; model.attention='none' is for model.kind='recurrent'",
        "rows": "it has no attention weights",
    }
    max_length = None

    def forward(
        self, x: Tensor, mask: Mask | None = None, positions: Tensor | None = None, cache: LayerCache | None = None
    ) -> Tensor:
        return x.new_zeros(())

    def empty_cache(self, batch: int, slots: int, like: Tensor) -> LayerCache:
        return LayerCache.empty(like, (batch, 1, slots, 1))

    def flops(self, queries: int, keys: int, causal: bool) -> int:
        return 0
