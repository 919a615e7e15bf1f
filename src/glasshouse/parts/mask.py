"""Masks: which query may look at which key, as a rule over positions that is made dense only where it must be.

Axes: B batch, Q queries, K keys.
"""

from abc import ABC, abstractmethod

from torch import Tensor


class Mask(ABC):
    """A rule over positions. `&` of two masks allows what both allow."""

    @abstractmethod
    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """Truth for each query position (..., Q) and key position (..., K) as (..., Q, K); None: everything is."""

    @property
    def plainly_causal(self) -> bool:
        """Whether, over positions 0..n-1, this is exactly the lower triangle: the fused kernel has that built in."""
        return False

    def __and__(self, other: "Mask") -> "Mask":
        return Both(self, other)


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


class Both(Mask):
    """What two masks both allow."""

    def __init__(self, first: Mask, second: Mask) -> None:
        self.first, self.second = first, second

    def allowed(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        first, second = self.first.allowed(queries, keys), self.second.allowed(queries, keys)
        if first is None or second is None:
            return second if first is None else first
        return first & second
