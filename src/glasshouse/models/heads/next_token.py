"""Next-token head: logits of the next token at each position.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, HeadSizes
from glasshouse.parts.linear import linear
from glasshouse.specs.spec_fields import setting


class NextTokenHead(Head):
    """W x (+ b), where W may be tied to the token embedding (Press and Wolf, Using the Output Embedding, 2017)."""

    @dataclass(frozen=True)
    class Settings:
        bias: bool = setting(False, "add an output bias for every token of the vocabulary")

    predicts = "next"

    def __init__(self, width: int, vocabulary: int, tied: bool = True, bias: bool = False) -> None:
        super().__init__()
        self.width, self.vocabulary = width, vocabulary
        self.weight = None if tied else nn.Parameter(nn.init.normal_(torch.empty(vocabulary, width), std=width**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None

    @classmethod
    def build(cls, sizes: HeadSizes, settings: Settings) -> "NextTokenHead":
        return cls(sizes.width, sizes.vocabulary, sizes.tied, settings.bias)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return linear(features_BTD, self.matrix(embedding_VD), self.bias)

    def matrix(self, embedding_VD: Tensor) -> Tensor:
        """The output matrix W: the head's weight, or the embedding if the head is tied."""
        return embedding_VD if self.weight is None else self.weight

    def flops(self, tokens: int) -> int:
        return 2 * tokens * self.width * self.vocabulary
