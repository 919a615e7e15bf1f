"""One-hot positions: the plainest way to say where a token stands."""

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings
from glasshouse.specs.errors import SpecError


class OneHot(Position):
    """x_t + e_t, where e_t has a one at place t and zeros elsewhere: nothing is learned, and the width must hold every
    position."""

    acts = "embedding"
    unsupported: ClassVar[Unsupported] = {"longer": "it has no vector for a position beyond the length it was built for"}

    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        if context > width:
            raise SpecError(
                "context-exceeds-width",
                f"one-hot positions need a place in the width for each position, and data.context={context} is more than "
                f"model.width={width}; raise the width or shorten the context",
            )
        self.context, self.width = context, width

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "OneHot":
        return cls(sizes.context, sizes.width)

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD + F.one_hot(positions, self.width).to(x_BTD.dtype)

    def limit(self) -> int | None:
        return self.context
