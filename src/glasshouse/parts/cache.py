"""The cache: what a layer computed for earlier tokens, kept so that a new token costs one row.

Slot s of a row holds what that row's position s left: the key and value of an attention, the state of a recurrent cell. Rows
may be at different positions: a slot that a row has not reached yet lies after its queries, where the causal mask hides it,
so no padding is needed. Writes in place: caches belong to generation and never to training.

Axes: B batch, H heads, T new tokens, S slots, E head width, M source tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from glasshouse.parts.memory import Memory


class LayerCache:
    """Two tensors of slots for one layer (keys and values), and the keys and values of a source where there is one."""

    def __init__(self, keys_BHSE: Tensor, values_BHSE: Tensor, source: tuple[Tensor, Tensor] | None = None) -> None:
        self.keys, self.values, self.source = keys_BHSE, values_BHSE, source

    @classmethod
    def empty(
        cls,
        batch: int,
        heads: int,
        slots: int,
        head_width: int,
        like: Tensor,
        source: tuple[Tensor, Tensor] | None = None,
    ) -> "LayerCache":
        """Room for `slots` positions of `batch` rows, of the type and on the device of `like`."""
        shape = (batch, heads, slots, head_width)
        return cls(like.new_zeros(shape), like.new_zeros(shape), source)

    def extend(self, keys_BHTE: Tensor, values_BHTE: Tensor, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Put new keys and values at their positions; give back those of every slot."""
        index = positions_BT[:, None, :, None].expand_as(keys_BHTE)
        self.keys.scatter_(2, index, keys_BHTE.to(self.keys.dtype))
        self.values.scatter_(2, index, values_BHTE.to(self.values.dtype))
        return self.keys, self.values

    def before(self, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """What stands (B, H, E) in the slot before each row's first new position; zeros where there is none."""
        first = positions_BT[:, 0]
        index = (first - 1).clamp(min=0)[:, None, None, None].expand(-1, self.keys.shape[1], 1, self.keys.shape[3])
        real = (first > 0)[:, None, None]
        return tuple(slots.gather(2, index)[:, :, 0] * real for slots in (self.keys, self.values))  # type: ignore[return-value]


class Cache:
    """A layer's cache for each layer of a model, and the source that they share."""

    def __init__(self, layers: Sequence[LayerCache], memory: Memory | None = None) -> None:
        self.layers, self.memory = list(layers), memory

    def rows(self, index: Tensor) -> "Cache":
        """A copy of some rows, to be worked on apart and put back with `put_rows`."""
        layers = [
            LayerCache(
                layer.keys[index],
                layer.values[index],
                None if layer.source is None else (layer.source[0][index], layer.source[1][index]),
            )
            for layer in self.layers
        ]
        return Cache(layers, None if self.memory is None else self.memory.rows(index))

    def put_rows(self, index: Tensor, other: "Cache") -> None:
        """Overwrite some rows with those of another cache. A source never changes."""
        for own, new in zip(self.layers, other.layers, strict=True):
            own.keys[index], own.values[index] = new.keys, new.values

    def move_rows(self, index: Tensor, slots: int) -> None:
        """Row i becomes what row `index[i]` was, in the first slots; sources stay."""
        for layer in self.layers:
            layer.keys[:, :, :slots] = layer.keys[index, :, :slots]
            layer.values[:, :, :slots] = layer.values[index, :, :slots]

    def upto(self, slots: int) -> "Cache":
        """A view of the first slots only, so that attention does not read what nobody has reached."""
        layers = [LayerCache(layer.keys[:, :, :slots], layer.values[:, :, :slots], layer.source) for layer in self.layers]
        return Cache(layers, self.memory)


def positions_of(slots: Tensor) -> Tensor:
    """The positions 0..S-1 of (B, H, S, E) slots."""
    return torch.arange(slots.shape[2], device=slots.device)
