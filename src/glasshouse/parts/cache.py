"""The key-value cache: what attention computed for earlier tokens, kept so that a new token costs one row.

Slot s of a row holds the key and value of that row's position s. Rows may be at different positions: a slot that a row has
not reached yet lies after its queries, where the causal mask hides it, so no padding is needed. Writes in place: caches
belong to generation and never to training.

Axes: B batch, H heads, T new tokens, S slots, E head width.
"""

import torch
from torch import Tensor


class LayerCache:
    """Keys and values of one layer."""

    def __init__(self, keys_BHSE: Tensor, values_BHSE: Tensor) -> None:
        self.keys, self.values = keys_BHSE, values_BHSE

    def extend(self, keys_BHTE: Tensor, values_BHTE: Tensor, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Put new keys and values at their positions; give back those of every slot."""
        index = positions_BT[:, None, :, None].expand_as(keys_BHTE)
        self.keys.scatter_(2, index, keys_BHTE.to(self.keys.dtype))
        self.values.scatter_(2, index, values_BHTE.to(self.values.dtype))
        return self.keys, self.values


class KeyValueCache:
    """A layer's cache for each block of a model, with room for `slots` positions of `batch` rows."""

    def __init__(self, layers: list[LayerCache]) -> None:
        self.layers = layers

    @classmethod
    def empty(
        cls, layers: int, batch: int, heads: int, slots: int, head_width: int, device: torch.device, dtype: torch.dtype
    ) -> "KeyValueCache":
        def room() -> Tensor:
            return torch.zeros(batch, heads, slots, head_width, device=device, dtype=dtype)

        return cls([LayerCache(room(), room()) for _ in range(layers)])

    def rows(self, index: Tensor) -> "KeyValueCache":
        """A copy of some rows, to be worked on apart and put back with `put_rows`."""
        return KeyValueCache([LayerCache(layer.keys[index], layer.values[index]) for layer in self.layers])

    def put_rows(self, index: Tensor, other: "KeyValueCache") -> None:
        """Overwrite some rows with those of another cache."""
        for own, new in zip(self.layers, other.layers, strict=True):
            own.keys[index], own.values[index] = new.keys, new.values

    def upto(self, slots: int) -> "KeyValueCache":
        """A view of the first slots only, so that attention does not read what nobody has reached."""
        return KeyValueCache([LayerCache(layer.keys[:, :, :slots], layer.values[:, :, :slots]) for layer in self.layers])
