"""Classifier: one answer for a whole sequence.

Axes: B batch, T time, D width.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from glasshouse.models.heads.base import Head, Shape
from glasshouse.models.heads.pooling import pool
from glasshouse.parts.sizes import Sizes
from glasshouse.specs import catalogue
from glasshouse.specs.errors import SpecError


class ClassifierHead(Head):
    """W dropout(norm(relu(A pool(x) + a))) + b; without a hidden layer W dropout(pool(x)) + b."""

    def __init__(
        self,
        width: int,
        classes: int,
        pooling: str = "mean",
        hidden: int = 0,
        norm: nn.Module | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.width, self.hidden_width, self.pooling = width, hidden, pooling
        self.hidden = nn.Linear(width, hidden) if hidden else None
        self.norm = norm or nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.answer = nn.Linear(hidden or width, classes)

    @classmethod
    def build(cls, shape: Shape) -> "ClassifierHead":
        settings = shape.settings
        if settings.classes < 2:
            raise SpecError(f"model.head.classes={settings.classes} is no choice for a classifier; give 2 or more")
        if settings.norm != "none" and not settings.hidden:
            raise SpecError(
                f"model.head.norm={settings.norm!r} normalises the hidden layer, and model.head.hidden is 0; give it a size"
            )
        sizes = Sizes(max(settings.hidden, 1), 1, 1, 1, bias=True, epsilon=shape.epsilon)
        norm = catalogue.find("norm", settings.norm).build(sizes)
        return cls(shape.width, settings.classes, settings.pooling, settings.hidden, norm, shape.dropout)

    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        x = pool(features_BTD, self.pooling, lengths_B)
        if self.hidden is not None:
            x = self.norm(F.relu(self.hidden(x)))
        return self.answer(self.dropout(x))

    def flops(self, tokens: int) -> int:
        return 2 * (self.width * self.hidden_width + self.answer.weight.numel())
