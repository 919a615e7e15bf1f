"""The base class of heads.

Axes: B batch, T time, D width, V vocabulary.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from glasshouse.models.heads.wide_part import WidePart
from glasshouse.parts import linear
from glasshouse.parts.sizes import Sizes


class Head(nn.Module):
    """From features (B, T, D), the last hidden states, to an output.

    `forward` receives the features, the token embedding (V, D), whose weights a tied head uses, and the lengths (B) of the
    texts. A head is built with the sizes of its model and, if the class declares `Settings`, with an instance of it.
    """

    # What the head predicts. "next": the next token; the features must not depend on it. "own": the token at each position;
    # the features should depend on both sides. "whole": one output for the whole sequence. "pairs": scores of pairs.
    predicts: ClassVar[Literal["next", "own", "whole", "pairs"]] = "whole"
    # How the vectors of the tokens are pooled to one; for heads that do not pool, how others should.
    pooling: str = "mean"
    width: int
    # Tokens after the next that it also predicts in training.
    future_tokens: int = 0

    def __init__(self) -> None:
        super().__init__()
        self.wide: WidePart | None = None

    def add_token_evidence(self, output: Tensor, tokens_BT: Tensor, lengths_B: Tensor | None = None) -> Tensor:
        """The output plus evidence that comes from the input tokens directly. Most heads have none."""
        return output

    def token_evidence(self, tokens_BT: Tensor) -> Tensor | None:
        """What each token adds to the output directly (B, T, outputs), if the head can divide it between the tokens."""
        return None

    def flops(self, tokens: int) -> int:
        """FLOPs of the matrix products in the forward pass of one sequence. A head that pools reads one vector of it."""
        return linear.flops(self, 1 if self.predicts == "whole" else tokens)

    def future_flops(self, tokens: int) -> int:
        """The same for the tokens after the next, which only training predicts."""
        return 0


def output_weight(sizes: Sizes) -> nn.Parameter | None:
    """A new output matrix (V, D) of a head that predicts tokens; None if it uses the embedding."""
    if sizes.tied:
        return None
    return nn.Parameter(nn.init.normal_(torch.empty(sizes.vocabulary, sizes.width), std=sizes.width**-0.5))
