"""Memory: what one sequence left behind for another to look at, as an encoder does for a decoder.

Axes: B batch, S source tokens, D width.
"""

from dataclasses import dataclass

from torch import Tensor

from glasshouse.parts.masks import Mask, over


@dataclass(frozen=True)
class Memory:
    """The states (B, S, D) of a source, and how many of each row are real; None: all."""

    states: Tensor
    lengths: Tensor | None = None

    @property
    def mask(self) -> Mask:
        return over(self.lengths)

    def rows(self, index: Tensor) -> "Memory":
        """Some rows."""
        return Memory(self.states[index], None if self.lengths is None else self.lengths[index])
