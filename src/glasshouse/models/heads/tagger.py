"""Tagger head: logits of a tag for each token.

Axes: B batch, T time, D width, V vocabulary.
"""

from dataclasses import dataclass

from torch import Tensor

from glasshouse.models.heads.base import AnswerHead
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_fields import setting


class TaggerHead(AnswerHead):
    """W dropout(relu(A x + a)) + b at each position, or W dropout(x) + b without a hidden layer."""

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
