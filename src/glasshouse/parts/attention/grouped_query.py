"""Grouped-query attention: the heads of a group share keys and values (Ainslie et al., GQA, 2023)."""

from dataclasses import dataclass

from torch import Tensor

from glasshouse.parts.attention.base import Attention, DotProductSettings
from glasshouse.parts.masks import Mask
from glasshouse.parts.positions.base import Position
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class GroupedQueryAttention(Attention):
    """concat over heads of softmax(Q_h K_g^T / sqrt(E)) V_g, g being the group of head h, times W_O.

    Costs n^2 h + n h^2 operations, like multi-head attention. Keys, values and their cache are smaller by a factor of
    heads / key_value_heads. With one key-value head it is multi-query attention (Shazeer 2019).
    """

    mixes_by_dot_product = True

    @dataclass(frozen=True)
    class Settings(DotProductSettings):
        key_value_heads: int = setting(0, "number of key-value heads; 0 means half of heads", minimum=0, maximum=10_000)

    def __init__(
        self,
        width: int,
        heads: int,
        position: Position | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        key_value_heads: int = 1,
        head_width: int = 0,
        query_key_norm: bool = False,
        value_residual: bool = False,
        softcap: float = 0.0,
    ) -> None:
        if heads % key_value_heads:
            divisors = ", ".join(str(n) for n in range(1, heads + 1) if heads % n == 0)
            raise SpecError(
                f"does not divide model.heads={heads}; choose one of {divisors}", "model.key_value_heads", key_value_heads
            )
        options = query_key_norm, value_residual, softcap
        super().__init__(width, heads, position, bias, dropout, key_value_heads, head_width, *options)

    @classmethod
    def build(cls, sizes: Sizes, settings: Settings, position: Position) -> "GroupedQueryAttention":
        heads = sizes.heads
        groups = settings.key_value_heads or (heads // 2 if heads % 2 == 0 else 1)
        options = settings.query_key_norm, settings.value_residual, settings.attention_softcap
        return cls(sizes.width, heads, position, sizes.bias, sizes.dropout, groups, sizes.head_width, *options)

    def mix(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, query_positions: Tensor, key_positions: Tensor
    ) -> Tensor:
        return self.dot_product(queries, keys, values, mask, query_positions, key_positions)
