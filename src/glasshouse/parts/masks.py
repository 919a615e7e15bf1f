"""Attention masks: rules over positions that say which query may attend to which key.

A mask becomes a dense tensor only when a kernel needs one. Positions have the shape (T) or (B, ..., T): with two or more
axes, the first is the batch. Masks can be combined: `Causal() & Padding(n)` allows what both allow, `Causal() | Prefix(n)`
what at least one allows.

Axes: B batch, Q queries, K keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor


class Mask(ABC):
    """A rule over positions."""

    # Whether the mask over positions 0..n-1 is exactly the lower triangle, which fused kernels have built in.
    lower_triangular: bool = False
    # Whether no query may attend to a later key.
    causal: bool = False
    # The length of the longest text, if the rows hold several.
    longest: int | None = None

    @abstractmethod
    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """Booleans (..., Q, K) for query positions (..., Q) and key positions (..., K); None if all are allowed."""

    def __and__(self, other: "Mask") -> "Mask":
        return Combined(self, other, either=False)

    def __or__(self, other: "Mask") -> "Mask":
        return Combined(self, other, either=True)


class Everything(Mask):
    """No restriction: each query sees every key."""

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return None


class Causal(Mask):
    """A query sees its own position and earlier ones."""

    lower_triangular = causal = True

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return keys[..., None, :] <= queries[..., :, None]


class Window(Mask):
    """A query sees keys at a distance below `size`, on both sides."""

    def __init__(self, size: int) -> None:
        self.size = size

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return (keys[..., None, :] - queries[..., :, None]).abs() < self.size


class Padding(Mask):
    """A query sees the first `lengths` (B) positions of its sequence; the others are padding."""

    def __init__(self, lengths_B: Tensor | Sequence[int]) -> None:
        self.lengths = torch.as_tensor(lengths_B)

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return keys[..., None, :] < self.lengths.view(-1, *[1] * max(keys.dim(), 2))


class Prefix(Padding):
    """The same rule, for a prefix language model: `Causal() | Prefix(lengths)` is bidirectional over the prefix."""


class SameText(Mask):
    """A query sees the keys of its own text, where the rows hold texts without padding, one after another.

    `bounds` are the first token of each text and the end of the last. No text is longer than `longest`. This is a rule over
    places in the row, because positions begin at 0 in each text.
    """

    def __init__(self, bounds: Tensor, longest: int) -> None:
        self.bounds, self.longest = bounds, longest

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        texts = torch.searchsorted(self.bounds, torch.arange(keys.shape[-1], device=keys.device), right=True)
        return texts[:, None] == texts


class Combined(Mask):
    """Allows what both of two masks allow, or what at least one of them allows (`either`)."""

    def __init__(self, first: Mask, second: Mask, either: bool) -> None:
        self.first, self.second, self.either = first, second, either
        self.causal = first.causal and second.causal if either else first.causal or second.causal

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        first, second = self.first.allowed(queries, keys), self.second.allowed(queries, keys)
        if first is None or second is None:
            return None if self.either else (second if first is None else first)
        return first | second if self.either else first & second


def sequence_mask(lengths_B: Tensor | None, causal: bool = False) -> Mask:
    """The mask of sequences with these lengths (None: no padding). A causal mask hides the padding at the end by itself."""
    if causal:
        return Causal()
    return Everything() if lengths_B is None else Padding(lengths_B)
