"""Connections: how a part (attention, feed-forward) joins the residual stream.

`final_norm` says whether a stack of such blocks leaves its stream unnormalised, so that a model ends it with a norm.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from torch import Tensor, nn

from glasshouse.parts.sizes import Sizes


class Connection(nn.Module, ABC):
    """A norm and dropout around a part; each kind says in which order."""

    final_norm: ClassVar[bool] = True

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = nn.Dropout(dropout)

    @classmethod
    def build(cls, sizes: Sizes, settings: Any, norm: nn.Module) -> "Connection":
        """The connection of these sizes; `settings` is an instance of the class's own `Settings`, where it declares some."""
        return cls(norm, sizes.dropout)

    @abstractmethod
    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """The stream after the part."""


class PreNorm(Connection):
    """x + part(norm(x)): the stream itself is never normalised (Xiong et al., On Layer Normalization, 2020)."""

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(part(self.norm(x)))


class PostNorm(Connection):
    """norm(x + part(x)), as in the first Transformer (Vaswani et al., Attention Is All You Need, 2017)."""

    final_norm: ClassVar[bool] = False

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + self.dropout(part(x)))


class NoResidual(Connection):
    """part(norm(x)): nothing is carried past a part, for the trials of what residual connections are for."""

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(part(self.norm(x)))
