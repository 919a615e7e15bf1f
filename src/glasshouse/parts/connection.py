"""Connections: how an attention or feed-forward part joins the residual stream."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from torch import Tensor, nn


class Connection(nn.Module, ABC):
    """A norm and dropout around a part. Each subclass defines their order."""

    # Whether a model needs a norm after its last block, because the residual stream leaves the blocks unnormalised.
    final_norm: ClassVar[bool] = True

    def __init__(self, norm: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = nn.Dropout(dropout)

    @abstractmethod
    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """The residual stream after the part."""


class PreNorm(Connection):
    """x + part(norm(x)): the residual stream itself is never normalised (Xiong et al., On Layer Normalization, 2020)."""

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.dropout(part(self.norm(x)))


class PostNorm(Connection):
    """norm(x + part(x)), as in the original Transformer (Vaswani et al., Attention Is All You Need, 2017)."""

    final_norm: ClassVar[bool] = False

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(x + self.dropout(part(x)))


class NoResidual(Connection):
    """part(norm(x)): no residual connection, for ablation studies."""

    def forward(self, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout(part(self.norm(x)))
