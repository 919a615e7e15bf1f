"""Masked-token head: logits of the original token at each position (Devlin et al., BERT, 2019).

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, HeadSizes
from glasshouse.parts.normalisation import LayerNorm
from glasshouse.specs.spec_fields import setting


class MaskedTokenHead(Head):
    """W norm(gelu(A x + a)) (+ b), where W may be tied to the token embedding."""

    @dataclass(frozen=True)
    class Settings:
        bias: bool = setting(False, "add an output bias for every token of the vocabulary")

    predicts = "own"

    def __init__(self, width: int, vocabulary: int, tied: bool = True, bias: bool = False, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.width, self.vocabulary = width, vocabulary
        self.transform = nn.Linear(width, width)
        self.norm = LayerNorm(width, epsilon=epsilon)
        self.weight = None if tied else nn.Parameter(nn.init.normal_(torch.empty(vocabulary, width), std=width**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None

    @classmethod
    def build(cls, sizes: HeadSizes, settings: Settings) -> "MaskedTokenHead":
        return cls(sizes.width, sizes.vocabulary, sizes.tied, settings.bias, sizes.epsilon)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        x = self.norm(F.gelu(self.transform(features_BTD)))
        return F.linear(x, embedding_VD if self.weight is None else self.weight, self.bias)

    def flops(self, tokens: int) -> int:
        return 2 * tokens * self.width * (self.width + self.vocabulary)
