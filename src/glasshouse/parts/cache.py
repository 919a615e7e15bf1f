"""The key-value cache: what each layer computed for earlier tokens, so that a new token needs no recomputation.

Slot s of a row belongs to position s of that row. It holds the key and value of an attention, or the state of a recurrent
cell. The rows of a batch may be at different positions. A slot that a row has not reached yet is at a later position than
its queries, so the causal mask hides it and no padding is needed. The cache is written in place: it is for generation, not
for training.

Axes: B batch, H heads, T new tokens, S slots, E head width.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glasshouse.parts.masks import Mask, sequence_mask


@dataclass(frozen=True)
class Memory:
    """The states (B, S, D) of an encoder, which a decoder attends to, and their lengths (B); None if there is no padding."""

    states: Tensor
    lengths: Tensor | None = None

    @property
    def mask(self) -> Mask:
        return sequence_mask(self.lengths)

    def select_rows(self, index: Tensor | slice) -> "Memory":
        """The memory of some rows of the batch."""
        return Memory(self.states[index], None if self.lengths is None else self.lengths[index])


class OneTokenStep:
    """What layers share in a step that reads one token a row: the slots `seen` (B, 1, 1, S), None for all, and rotations."""

    def __init__(self, seen: Tensor | None) -> None:
        self.seen = seen
        self._shared: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The result of `compute`, which is called for the first layer alone."""
        if key not in self._shared:
            self._shared[key] = compute()
        return self._shared[key]


@dataclass(eq=False)
class LayerCache:
    """The slots (B, H, S, E) of a layer, keys and values of a `source`, and the `step` that reads one token a row."""

    keys: Tensor
    values: Tensor
    source: tuple[Tensor, Tensor] | None = None
    step: OneTokenStep | None = None

    @classmethod
    def empty(cls, like: Tensor, shape: tuple[int, ...], source: tuple[Tensor, Tensor] | None = None) -> "LayerCache":
        """An empty cache with the dtype and device of `like`."""
        return cls(like.new_zeros(shape), like.new_zeros(shape), source)

    def extend(self, keys_BHTE: Tensor, values_BHTE: Tensor, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """Write new keys and values at their positions; return the keys and values of all slots."""
        if self.step is not None and self.step.seen is None:  # all are at the last slot
            self.keys[:, :, -1:] = keys_BHTE
            self.values[:, :, -1:] = values_BHTE
            return self.keys, self.values
        index = positions_BT[:, None, :, None].expand_as(keys_BHTE)
        self.keys.scatter_(2, index, keys_BHTE.to(self.keys.dtype))
        self.values.scatter_(2, index, values_BHTE.to(self.values.dtype))
        return self.keys, self.values

    def state_before(self, positions_BT: Tensor) -> tuple[Tensor, Tensor]:
        """The content (B, H, E) of the slot before each row's first new position; zeros at the start of a sequence."""
        first = positions_BT[:, 0]
        index = (first - 1).clamp(min=0)[:, None, None, None].expand(-1, self.keys.shape[1], 1, self.keys.shape[3])
        exists = (first > 0)[:, None, None]
        return self.keys.gather(2, index)[:, :, 0] * exists, self.values.gather(2, index)[:, :, 0] * exists


class Cache:
    """A `LayerCache` for each layer of a model, and the memory that the layers attend to, if any.

    prefix: the number of slots before those of the tokens. They hold a prefix that is not made of tokens, such as a picture.
    """

    def __init__(self, layers: Sequence[LayerCache], memory: Memory | None = None, prefix: int = 0) -> None:
        self.layers, self.memory, self.prefix = list(layers), memory, prefix

    @property
    def slots(self) -> int:
        return self.layers[0].keys.shape[2] - self.prefix if self.layers else 0

    def reorder_rows(self, index: Tensor, slots: int) -> None:
        """Replace row i by row `index[i]` in the first `slots` slots of the tokens. Sources and prefixes do not change."""
        tokens = slice(self.prefix, self.prefix + slots)
        for layer in self.layers:
            layer.keys[:, :, tokens] = layer.keys[index, :, tokens]
            layer.values[:, :, tokens] = layer.values[index, :, tokens]

    def select_rows(self, rows: Tensor | slice, end: int | None = None, step: OneTokenStep | None = None) -> "Cache":
        """Some rows and their first `end` slots: a copy of rows with these indices, but a slice of rows is a view."""
        layers = []
        for layer in self.layers:
            source = None if layer.source is None else (layer.source[0][rows], layer.source[1][rows])
            layers.append(LayerCache(layer.keys[rows][:, :, :end], layer.values[rows][:, :, :end], source, step))
        return Cache(layers, None if self.memory is None else self.memory.select_rows(rows), self.prefix)

    def view(self, rows: slice, slots: int, step: OneTokenStep | None = None) -> "Cache":
        """Some rows, with their prefix and their first slots, without a copy: attention reads all slots that it is given."""
        return self.select_rows(rows, self.prefix + slots, step)

    def one_token_view(self, last: Sequence[int]) -> "Cache":
        """A view of the first rows for a step that reads one token of each; `last` are the slots of these tokens."""
        longest, seen = max(last), None
        if min(last) < longest:
            device = self.layers[0].keys.device
            ends = torch.tensor(last, device=device) + self.prefix
            seen = (torch.arange(self.prefix + longest + 1, device=device) <= ends[:, None])[:, None, None]
        return self.view(slice(0, len(last)), longest + 1, OneTokenStep(seen))

    def resized(self, rows: int, slots: int) -> "Cache":
        """A copy with more rows and slots, which are empty. A cache with sources keeps its number of rows."""
        layers = []
        for layer in self.layers:
            old_rows, heads, old_slots, width = layer.keys.shape
            larger = LayerCache.empty(layer.keys, (rows, heads, self.prefix + slots, width), layer.source)
            larger.keys[:old_rows, :, :old_slots], larger.values[:old_rows, :, :old_slots] = layer.keys, layer.values
            layers.append(larger)
        return Cache(layers, self.memory, self.prefix)

    def copy_row(self, old: int, new: int, slots: int) -> None:
        """Copy row `old` to row `new`: its prefix, the first slots of its tokens, and its source."""
        end = self.prefix + slots
        slots_of_layers = [tensor for layer in self.layers for tensor in (layer.keys, layer.values)]
        if slots_of_layers and slots_of_layers[0].is_cuda:
            # All slots in one launch: one for each layer takes longer than copying empty slots.
            torch._foreach_copy_([tensor[new] for tensor in slots_of_layers], [tensor[old] for tensor in slots_of_layers])
        else:
            for tensor in slots_of_layers:
                tensor[new, :, :end] = tensor[old, :, :end]
        for layer in self.layers:
            for tensor in layer.source or ():
                tensor[new] = tensor[old]
        if self.memory is not None:
            self.memory.states[new] = self.memory.states[old]
            if self.memory.lengths is not None:
                self.memory.lengths[new] = self.memory.lengths[old]


def slot_positions(slots: Tensor) -> Tensor:
    return torch.arange(slots.shape[2], device=slots.device)
