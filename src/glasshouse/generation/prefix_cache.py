"""The prefix cache: keys and values of earlier prompts, so that prompts which begin alike are read once.

A token's keys and values depend on the tokens before it only. Those of a common beginning can thus be copied.
"""

from collections import OrderedDict

import torch
from torch import Tensor

from glasshouse.parts.cache import Cache

# A search looks at every prompt.
MOST_PROMPTS = 256
# Copying fewer tokens than this takes as long as reading them.
FEWEST_TOKENS = 16


class PrefixCache:
    """The latest prompts, up to `most_bytes` of keys and values; the one that was used longest ago leaves first."""

    def __init__(self, most_bytes: int = 2**28) -> None:
        self.most_bytes = most_bytes
        self.bytes = 0
        self.copied_tokens = 0  # the tokens that did not have to be read
        self._entries: OrderedDict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = OrderedDict()

    def keep(self, tokens: list[int], cache: Cache, row: int) -> None:
        """Keep a row of a cache. Its slots hold these tokens."""
        key = tuple(tokens)
        if len(key) < FEWEST_TOKENS or cache.prefix:
            return
        if key in self._entries:
            self._entries.move_to_end(key)
            return
        entry = [
            (layer.keys[row, :, : len(key)].clone(), layer.values[row, :, : len(key)].clone()) for layer in cache.layers
        ]
        if _size(entry) > self.most_bytes:
            return
        self.bytes += _size(entry)
        self._entries[key] = entry
        while self.bytes > self.most_bytes or len(self._entries) > MOST_PROMPTS:
            _, oldest = self._entries.popitem(last=False)
            self.bytes -= _size(oldest)

    @torch.inference_mode()
    def restore(self, tokens: list[int], cache: Cache, row: int) -> int:
        """Fill the first slots of a row from the prompt that shares most tokens; return how many.

        The last token is never filled: its logits have to be computed.
        """
        best, count, before_last = None, FEWEST_TOKENS - 1, tokens[:-1]
        for key in self._entries:
            shared = _common(key, before_last)
            if shared > count:
                best, count = key, shared
        if best is None or cache.prefix:
            return 0
        self._entries.move_to_end(best)
        for layer, (keys, values) in zip(cache.layers, self._entries[best], strict=True):
            layer.keys[row, :, :count], layer.values[row, :, :count] = keys[:, :count], values[:, :count]
        self.copied_tokens += count
        return count


def _common(first: tuple[int, ...], second: list[int]) -> int:
    """The length of the common beginning."""
    for index, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return index
    return min(len(first), len(second))


def _size(entry: list[tuple[Tensor, Tensor]]) -> int:
    return sum(2 * keys.numel() * keys.element_size() for keys, _ in entry)
