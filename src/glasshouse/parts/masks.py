"""Masks: which query may look at which key, as a rule over positions that is made dense only where it must be.

Positions have shape (T) or (B, ..., T): the first axis of two or more is the batch. Masks compose: `Causal() & Padding(n)`
allows what both allow, `Causal() | Prefix(n)` what either does.

Axes: B batch, Q queries, K keys.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor


class Mask(ABC):
    """A rule over positions."""

    @abstractmethod
    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """Truth for each query position (..., Q) and key position (..., K) as (..., Q, K); None: everything is."""

    @property
    def plainly_causal(self) -> bool:
        """Whether, over positions 0..n-1, this is exactly the lower triangle: the fused kernel has that built in."""
        return False

    @property
    def causal(self) -> bool:
        """Whether no query may look at a later key."""
        return False

    def __and__(self, other: "Mask") -> "Mask":
        return Both(self, other)

    def __or__(self, other: "Mask") -> "Mask":
        return Either(self, other)


class Everything(Mask):
    """No rule: every query sees every key."""

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return None


class Causal(Mask):
    """A query sees its own position and those before it."""

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return keys[..., None, :] <= queries[..., :, None]

    @property
    def plainly_causal(self) -> bool:
        return True

    @property
    def causal(self) -> bool:
        return True


class Window(Mask):
    """A query sees keys less than `size` away, on both sides."""

    def __init__(self, size: int) -> None:
        self.size = size

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return (keys[..., None, :] - queries[..., :, None]).abs() < self.size


class Padding(Mask):
    """Only the first `lengths` (B) positions of each sequence are real; the rest is seen by nobody."""

    def __init__(self, lengths_B: Tensor | Sequence[int]) -> None:
        self.lengths = torch.as_tensor(lengths_B)

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return keys[..., None, :] < _over_batch(self.lengths, keys)


class Prefix(Mask):
    """Every query sees the first `lengths` (B) positions: with `Causal() |` before it, a prefix read from both sides."""

    def __init__(self, lengths_B: Tensor | Sequence[int]) -> None:
        self.lengths = torch.as_tensor(lengths_B)

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return keys[..., None, :] < _over_batch(self.lengths, keys)


class Both(Mask):
    """What two masks both allow."""

    def __init__(self, first: Mask, second: Mask) -> None:
        self.first, self.second = first, second

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        first, second = self.first.allowed(queries, keys), self.second.allowed(queries, keys)
        if first is None or second is None:
            return second if first is None else first
        return first & second

    @property
    def causal(self) -> bool:
        return self.first.causal or self.second.causal


class Either(Mask):
    """What at least one of two masks allows."""

    def __init__(self, first: Mask, second: Mask) -> None:
        self.first, self.second = first, second

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        first, second = self.first.allowed(queries, keys), self.second.allowed(queries, keys)
        return None if first is None or second is None else first | second

    @property
    def causal(self) -> bool:
        return self.first.causal and self.second.causal


def over(lengths_B: Tensor | None, causal: bool = False) -> Mask:
    """The mask of sequences of which so much is real (None: all). A causal one hides padding at the end already."""
    if causal:
        return Causal()
    return Everything() if lengths_B is None else Padding(lengths_B)


def _over_batch(lengths_B: Tensor, keys: Tensor) -> Tensor:
    """Lengths with as many axes as (..., Q, K) over these keys has."""
    return lengths_B.view(-1, *([1] * max(keys.dim(), 2)))
