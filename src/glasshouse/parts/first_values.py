"""The values of the first attention of a stack, which later attentions mix with their own (value residual).

Axes: B batch, G key-value heads, T time, E head width.
"""

from torch import Tensor


class FirstValues:
    """Filled by the first attention of a forward pass and read by the later ones."""

    def __init__(self) -> None:
        self.values_BGTE: Tensor | None = None

    def take(self, values_BGTE: Tensor) -> Tensor:
        """The values of the first attention; the first call brings them."""
        if self.values_BGTE is None:
            self.values_BGTE = values_BGTE
        return self.values_BGTE
