"""Regressor head: one number for a whole sequence.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, HeadSizes
from glasshouse.models.heads.pooling import POOLINGS, pool
from glasshouse.specs.spec_fields import setting


class RegressorHead(Head):
    """w dropout(relu(A pool(x) + a)) + b, or w dropout(pool(x)) + b without a hidden layer.

    The output is a standardised number, which is easier to learn than one of any size. `mean` and `deviation` are those of
    the training data; output * deviation + mean is the prediction in the unit of the data.
    """

    @dataclass(frozen=True)
    class Settings:
        pooling: str = setting("mean", "how the token vectors are pooled to one", choices=POOLINGS)
        hidden: int = setting(0, "size of the hidden layer; 0 means no hidden layer", minimum=0, maximum=1_000_000)
        mean: float = setting(0.0, "mean of the training values; taken from the data")
        deviation: float = setting(0.0, "standard deviation of the training values; taken from the data", minimum=0)

    def __init__(
        self,
        width: int,
        pooling: str = "mean",
        hidden: int = 0,
        dropout: float = 0.0,
        mean: float = 0.0,
        deviation: float = 1.0,
    ) -> None:
        super().__init__()
        self.width, self.hidden_width, self.pooling = width, hidden, pooling
        self.mean, self.deviation = mean, deviation
        self.hidden = nn.Linear(width, hidden) if hidden else None
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Linear(hidden or width, 1)

    @classmethod
    def build(cls, sizes: HeadSizes, settings: Settings) -> "RegressorHead":
        scale = (settings.mean, settings.deviation or 1.0)
        return cls(sizes.width, settings.pooling, settings.hidden, sizes.dropout, *scale)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """(B, 1): the standardised number of each sequence."""
        x = pool(features_BTD, self.pooling, lengths_B)
        if self.hidden is not None:
            x = F.relu(self.hidden(x))
        return self.answer(self.dropout(x))

    def flops(self, tokens: int) -> int:
        return 2 * (self.width * self.hidden_width + self.answer.weight.numel())
