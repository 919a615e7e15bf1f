"""What a head is told when it is built from a spec, and the one thing it does.

Axes: B batch, T time, D width, V vocabulary.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor, nn

from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import HeadSpec as Settings


@dataclass(frozen=True)
class Shape:
    """The sizes and settings a head may need. A head takes what it needs and refuses what it cannot be."""

    width: int
    vocabulary: int
    tied: bool
    dropout: float
    epsilon: float
    settings: Settings


class Head(nn.Module, ABC):
    """Features (B, T, D) in, an answer out."""

    # What it is asked: the next token (which features must not have seen), the token at its own place (of which they must
    # have seen both sides), or one answer for the whole.
    asks: ClassVar[Literal["next", "own", "whole"]] = "whole"

    @classmethod
    @abstractmethod
    def build(cls, shape: Shape) -> "Head":
        """The head of a spec."""

    @abstractmethod
    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The answer. `embedding` is the token embedding, which a tied head shares."""

    def informed(self, answer: Tensor, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The answer with what the tokens themselves say beside their features; most heads ask for nothing of the kind."""
        return answer

    def check(self, width: int, vocabulary: int) -> None:
        """Raise SpecError where this head was made for a model of other sizes."""
        own = {
            "width": (getattr(self, "width", width), width),
            "vocabulary": (getattr(self, "vocabulary", vocabulary), vocabulary),
        }
        for what, (mine, theirs) in own.items():
            if mine != theirs:
                raise SpecError(f"{type(self).__name__} was made for a {what} of {mine}, and the model has {theirs}")

    @abstractmethod
    def flops(self, tokens: int) -> int:
        """Multiplications and additions of the matrix products for one sequence, forward."""
