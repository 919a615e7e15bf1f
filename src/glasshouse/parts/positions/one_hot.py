"""One-hot positional encoding: one feature for each position."""

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class OneHot(Position):
    """x_t + e_t, e_t being 1 in feature t and 0 elsewhere. Has no parameters; the width must be at least the context."""

    mechanism = "embedding"
    unsupported: ClassVar[Unsupported] = {"longer": "it has no vector for a position beyond the context it was built for"}

    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        if context > width:
            raise SpecError(
                "context-exceeds-width",
                f"one-hot positions need one feature for each position, but data.context={context} is more than "
                f"model.width={width}; increase the width or shorten the context",
            )
        self.context, self.width = context, width

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "OneHot":
        return cls(sizes.context, sizes.width)

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD + F.one_hot(positions, self.width).to(x_BTD.dtype)

    def max_length(self) -> int | None:
        return self.context
