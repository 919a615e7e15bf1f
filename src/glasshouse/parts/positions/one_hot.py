"""One-hot positional encoding: one feature for each position."""

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.positions.fixed_code import FixedCode
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError


class OneHot(FixedCode):
    """x_t + s e_t, e_t being 1 in feature t and 0 elsewhere. Has no parameters; the width must be at least the context.

    The factor s is the standard deviation of the initial embeddings times sqrt(D), because e_t has a root mean square of
    1 / sqrt(D). The code is then as large as the embeddings.
    """

    unsupported: ClassVar[Unsupported] = {"longer": "it has no vector for a position beyond the context it was built for"}

    def __init__(self, context: int, width: int, scale: float | None = None) -> None:
        super().__init__(width, scale)
        if context > width:
            raise SpecError(
                f"one-hot positions need one feature for each position, but data.context={context} is more than "
                f"model.width={width}; increase the width or shorten the context"
            )
        self.context = context

    @classmethod
    def build(cls, sizes: Sizes, settings: FixedCode.Settings) -> "OneHot":
        return cls(sizes.context, sizes.width, settings.position_scale or None)

    def code(self, positions: Tensor) -> Tensor:
        return F.one_hot(positions, self.width)

    def factor(self, deviation: float) -> float:
        return deviation * self.width**0.5

    def max_length(self) -> int | None:
        return self.context
