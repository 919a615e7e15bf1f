"""Heads with a few outputs: an optional hidden layer, then one number for a sequence, or logits of a tag for each token.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head
from glasshouse.models.heads.pooling import POOLINGS, pool
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class AnswerHead(Head):
    """W dropout(norm(relu(A x + a))) + b, or W dropout(x) + b without a hidden layer."""

    def __init__(self, sizes: Sizes, hidden: int, outputs: int, norm: nn.Module | None = None, bias: bool = True) -> None:
        super().__init__()
        self.width, self.hidden_width = sizes.width, hidden
        self.hidden = nn.Linear(sizes.width, hidden) if hidden else None
        self.norm = norm
        self.dropout = nn.Dropout(sizes.dropout)
        self.answer = nn.Linear(hidden or sizes.width, outputs, bias=bias)

    def answers(self, x: Tensor) -> Tensor:
        if self.hidden is not None:
            x = F.relu(self.hidden(x))
            x = x if self.norm is None else self.norm(x)
        return self.answer(self.dropout(x))

    def flops(self, tokens: int) -> int:
        return 2 * (self.width * self.hidden_width + self.answer.weight.numel())


class RegressorHead(AnswerHead):
    """Regressor head: one number for a whole sequence.

    w dropout(relu(A pool(x) + a)) + b, or w dropout(pool(x)) + b without a hidden layer. The output is a standardised
    number, which is easier to learn than one of any size. `mean` and `deviation` are those of the training data; output *
    deviation + mean is the prediction in the unit of the data.
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
        return self.answers(pool(features_BTD, self.pooling, lengths_B))


class TaggerHead(AnswerHead):
    """Tagger head: W dropout(relu(A x + a)) + b at each token, or W dropout(x) + b without a hidden layer."""

    @dataclass(frozen=True)
    class Settings:
        tags: int = setting(0, "number of tags; 0 means as many as the data have", minimum=0, maximum=1_000_000)
        hidden: int = setting(0, "size of the hidden layer; 0 means no hidden layer", minimum=0, maximum=1_000_000)

    predicts = "own"

    def __init__(self, sizes: Sizes, settings: Settings) -> None:
        if settings.tags < 2:
            raise SpecError("is too few for a tagger; choose 2 or more", "model.head.tags", settings.tags)
        super().__init__(sizes, settings.hidden, settings.tags)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        return self.answers(features_BTD)

    def flops(self, tokens: int) -> int:
        return tokens * super().flops(tokens)
