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
    """W x (+ b), where W may be tied to the token embedding (Press and Wolf, Using the Output Embedding, 2017).

    With `softcap` = c the logits are c tanh((W x + b) / c), so that none is beyond c (Gemma 2, 2024).
    """

    @dataclass(frozen=True)
    class Settings:
        bias: bool = setting(False, "add an output bias for every token of the vocabulary")
        softcap: float = setting(
            0.0, "logits approach this value and never exceed it; 0 means no limit", minimum=0, rare=True
        )

    predicts = "next"

    def __init__(self, width: int, vocabulary: int, tied: bool = True, bias: bool = False, softcap: float = 0.0) -> None:
        super().__init__()
        self.width, self.vocabulary, self.softcap = width, vocabulary, softcap
        self.weight = None if tied else nn.Parameter(nn.init.normal_(torch.empty(vocabulary, width), std=width**-0.5))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None

    @classmethod
    def build(cls, sizes: HeadSizes, settings: Settings) -> "NextTokenHead":
        return cls(sizes.width, sizes.vocabulary, sizes.tied, settings.bias, settings.softcap)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return self.capped(linear(features_BTD, self.matrix(embedding_VD), self.bias))

    def capped(self, logits: Tensor) -> Tensor:
        """The logits with their soft limit, if there is one."""
        return self.softcap * torch.tanh(logits / self.softcap) if self.softcap else logits

    def matrix(self, embedding_VD: Tensor) -> Tensor:
        """The output matrix W: the head's weight, or the embedding if the head is tied."""
        return embedding_VD if self.weight is None else self.weight

    def flops(self, tokens: int) -> int:
        return 2 * tokens * self.width * self.vocabulary
