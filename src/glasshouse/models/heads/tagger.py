"""Tagger head: logits of a tag for each token.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, HeadSizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class TaggerHead(Head):
    """W dropout(relu(A x + a)) + b at each position, or W dropout(x) + b without a hidden layer."""

    @dataclass(frozen=True)
    class Settings:
        tags: int = setting(0, "number of tags; 0 means as many as the data have", minimum=0, maximum=1_000_000)
        hidden: int = setting(0, "size of the hidden layer; 0 means no hidden layer", minimum=0, maximum=1_000_000)

    predicts = "own"

    def __init__(self, width: int, tags: int, hidden: int = 0, dropout: float = 0.0) -> None:
        super().__init__()
        self.width, self.hidden_width = width, hidden
        self.hidden = nn.Linear(width, hidden) if hidden else None
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Linear(hidden or width, tags)

    @classmethod
    def build(cls, sizes: HeadSizes, settings: Settings) -> "TaggerHead":
        if settings.tags < 2:
            raise SpecError("is too few for a tagger; choose 2 or more", "model.head.tags", settings.tags)
        return cls(sizes.width, settings.tags, settings.hidden, sizes.dropout)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        x = features_BTD if self.hidden is None else F.relu(self.hidden(features_BTD))
        return self.answer(self.dropout(x))

    def flops(self, tokens: int) -> int:
        return 2 * tokens * (self.width * self.hidden_width + self.answer.weight.numel())
