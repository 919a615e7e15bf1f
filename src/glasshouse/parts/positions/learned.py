"""A learned vector for each position (Gehring et al. 2017; GPT-2)."""

from typing import ClassVar

from torch import Tensor, nn

from glasshouse.parts.capabilities import Unsupported
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.declared import NoSettings


class Learned(Position):
    """x_t + table[t]. Has no entry, and so no answer, beyond the length of its table."""

    acts = "embedding"
    unsupported: ClassVar[Unsupported] = {"longer": "its table ends at the length it was built for"}

    def __init__(self, context: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(context, width)

    @classmethod
    def build(cls, sizes: Sizes, settings: NoSettings) -> "Learned":
        return cls(sizes.context, sizes.width)

    def embed(self, x_BTD: Tensor, positions: Tensor) -> Tensor:
        return x_BTD + self.table(positions)

    def limit(self) -> int | None:
        return self.table.num_embeddings
