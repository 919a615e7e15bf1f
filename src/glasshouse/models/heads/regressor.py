"""Regressor head: one number for a whole sequence.

Axes: B batch, T time, D width.
"""

from dataclasses import dataclass

from torch import Tensor

from glasshouse.models.heads.base import AnswerHead
from glasshouse.models.heads.pooling import POOLINGS, pool
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_fields import setting


class RegressorHead(AnswerHead):
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

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        super().__init__(sizes, settings.hidden, 1)
        self.pooling, self.mean, self.deviation = settings.pooling, settings.mean, settings.deviation or 1.0

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """(B, 1): the standardised number of each sequence."""
        return self.answers(pool(features_BTD, self.pooling, lengths_B))
