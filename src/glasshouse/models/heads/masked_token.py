"""Masked-token head: logits of the original token at each position (Devlin et al., BERT, 2019).

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, output_weight
from glasshouse.parts.normalisation import LayerNorm
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting


class MaskedTokenHead(Head):
    """W norm(gelu(A x + a)) (+ b), where W may be tied to the token embedding."""

    @dataclass(frozen=True)
    class Settings:
        bias: bool = setting(False, "add an output bias for every token of the vocabulary")

    predicts = "own"

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        super().__init__()
        self.width, self.vocabulary = width, vocabulary = sizes.width, sizes.vocabulary
        self.transform = nn.Linear(width, width)
        self.norm = LayerNorm(width, epsilon=sizes.epsilon)
        self.weight = output_weight(sizes)
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if settings.bias else None

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        x = self.norm(F.gelu(self.transform(features_BTD)))
        return F.linear(x, embedding_VD if self.weight is None else self.weight, self.bias)

    def flops(self, tokens: int) -> int:
        return super().flops(tokens) + 2 * tokens * self.width * self.vocabulary
