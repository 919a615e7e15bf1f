"""Memory: the encoder's output, which a decoder attends to.

Axes: B batch, S source tokens, D width.
"""

from dataclasses import dataclass

from torch import Tensor

from glasshouse.parts.masks import Mask, sequence_mask


@dataclass(frozen=True)
class Memory:
    """The states (B, S, D) of the sources and their lengths (B). Without lengths there is no padding."""

    states: Tensor
    lengths: Tensor | None = None

    @property
    def mask(self) -> Mask:
        return sequence_mask(self.lengths)

    def select_rows(self, index: Tensor | slice) -> "Memory":
        """The memory of some rows of the batch."""
        return Memory(self.states[index], None if self.lengths is None else self.lengths[index])
