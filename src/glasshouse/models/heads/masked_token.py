"""Masked token: a score for every token that may stand where the input was hidden (Devlin et al., BERT, 2019).

Axes: B batch, T time, D width, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, Shape
from glasshouse.parts.normalisation import LayerNorm


class MaskedTokenHead(Head):
    """W norm(gelu(A x + a)) (+ b), where W may be the token embedding itself."""

    asks = "own"

    def __init__(self, width: int, vocabulary: int, tied: bool = True, bias: bool = False, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.width, self.vocabulary = width, vocabulary
        self.transform = nn.Linear(width, width)
        self.norm = LayerNorm(width, epsilon=epsilon)
        self.weight = None if tied else nn.Parameter(torch.randn(vocabulary, width) / width**0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None

    @classmethod
    def build(cls, shape: Shape) -> "MaskedTokenHead":
        return cls(shape.width, shape.vocabulary, shape.tied, shape.settings.bias, shape.epsilon)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        x = self.norm(F.gelu(self.transform(features_BTD)))
        return F.linear(x, embedding_VD if self.weight is None else self.weight, self.bias)

    def flops(self, tokens: int) -> int:
        return 2 * tokens * self.width * (self.width + self.vocabulary)
