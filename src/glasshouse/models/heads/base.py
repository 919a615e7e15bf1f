"""What a head is: features in, an answer out; and the sizes it is built with.

Axes: B batch, T time, D width, V vocabulary.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from glasshouse.specs.errors import SpecError


@dataclass(frozen=True)
class HeadSizes:
    """What `Head.build` receives beside the head's own settings."""

    width: int
    vocabulary: int
    tied: bool
    dropout: float
    epsilon: float


class Head(nn.Module, ABC):
    """Features (B, T, D) in, an answer out."""

    # What the head predicts: the next token (its features must not have seen it), the token at its own position (its
    # features must have seen both sides), or one answer for the whole sequence.
    predicts: ClassVar[Literal["next", "own", "whole", "pairs"]] = "whole"

    @classmethod
    @abstractmethod
    def build(cls, sizes: HeadSizes, settings: Any) -> "Head":
        """The head of these sizes; `settings` is an instance of the class's own `Settings`, where it declares some."""

    @abstractmethod
    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The answer. `embedding` is the token embedding, which a tied head shares."""

    def with_tokens(self, answer: Tensor, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The answer, corrected by the tokens themselves; most heads leave it as it is."""
        return answer

    def check(self, width: int, vocabulary: int) -> None:
        """Refuse a model of other sizes than the head was built for."""
        own = {
            "width": (getattr(self, "width", width), width),
            "vocabulary": (getattr(self, "vocabulary", vocabulary), vocabulary),
        }
        for what, (mine, theirs) in own.items():
            if mine != theirs:
                raise SpecError(
                    "built-for-other-sizes",
                    f"{type(self).__name__} was built for a {what} of {mine}, and the model has {theirs}",
                )

    @abstractmethod
    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence."""
