"""The base class of heads, and the sizes that a head is built with.

Axes: B batch, T time, D width, V vocabulary.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from glasshouse.specs.errors import SpecError


@dataclass(frozen=True)
class HeadSizes:
    """The argument of `Head.build` that is common to all heads. `tied` means that the output weights are the embedding's."""

    width: int
    vocabulary: int
    tied: bool
    dropout: float
    epsilon: float


class Head(nn.Module, ABC):
    """From features (B, T, D), the last hidden states, to an output."""

    # What the head predicts. "next": the next token; the features must not depend on it. "own": the token at each position;
    # the features should depend on both sides. "whole": one output for the whole sequence. "pairs": scores of pairs.
    predicts: ClassVar[Literal["next", "own", "whole", "pairs"]] = "whole"

    @classmethod
    @abstractmethod
    def build(cls, sizes: HeadSizes, settings: Any) -> "Head":
        """Build the head with these sizes. `settings` is an instance of the class's `Settings`, if it declares one."""

    @abstractmethod
    def forward(self, features_BTD: Tensor, embedding_VD: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The output for these features. `embedding_VD` is the token embedding, whose weights a tied head uses."""

    def add_token_evidence(self, output: Tensor, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The output plus evidence that comes from the input tokens directly. Most heads have none."""
        return output

    def token_evidence(self, tokens_BT: Tensor) -> Tensor | None:
        """What each token adds to the output directly (B, T, outputs), if the head can divide it between the tokens."""
        return None

    def check(self, width: int, vocabulary: int) -> None:
        """Raise SpecError if the head was built for a model of other sizes."""
        sizes = {
            "width": (getattr(self, "width", width), width),
            "vocabulary": (getattr(self, "vocabulary", vocabulary), vocabulary),
        }
        for name, (head_size, model_size) in sizes.items():
            if head_size != model_size:
                raise SpecError(
                    f"{type(self).__name__} was built for a {name} of {head_size}, but the model has {model_size}; "
                    f"build the head with {name}={model_size}"
                )

    @abstractmethod
    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence."""
