"""Claim: the output of a decoder has two axes, sequence and batch."""

from collections.abc import Mapping
from typing import ClassVar

import torch

from glasshouse import models
from glasshouse.claims.claim import GROUPS, Quantity
from glasshouse.claims.random_check import RandomCheck, draw
from glasshouse.claims.rules import zero
from glasshouse.specs.spec import ModelSpec


class OutputShape(RandomCheck):
    """Reads random tokens with random decoders and looks at the shape of what comes out."""

    group = GROUPS[0]
    statement = "The output of a decoder has two axes, sequence and batch."
    source = "course work on attention: a question on shapes"
    reported = "asserted"
    why = "A decoder reads a batch of sequences of tokens, which has two axes, and predicts one token at each place."
    procedure = (
        "Decoders of random sizes read random tokens. The hidden states after the last layer and the logits must have "
        "exactly the two axes batch and sequence. Beside it, the three axes: batch, sequence, and the width of the model "
        "for hidden states or the size of the vocabulary for logits."
    )
    would_change = "Choosing one token at each place, by an argmax or by sampling: the chosen tokens have two axes."
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "hidden": Quantity("axes of the hidden states beyond two", "count", "axes"),
        "logits": Quantity("axes of the logits beyond two", "count", "axes"),
        "three": Quantity("outputs whose shape is not batch, sequence, and width or vocabulary", "count", "outputs"),
    }
    parts = (
        zero("hidden", name="the hidden states have two axes"),
        zero("logits", name="the logits have two axes"),
        zero("three", name="repaired: batch, sequence, and width or vocabulary", decides=False),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        heads, layers, vocabulary = draw(generator, 1, 4), draw(generator, 1, 3), draw(generator, 5, 50)
        width, batch, length = 2 * heads * draw(generator, 1, 8), draw(generator, 1, 5), draw(generator, 1, 12)
        model = models.build(ModelSpec(width=width, layers=layers, heads=heads), vocabulary, 16)
        tokens = torch.randint(0, vocabulary, (batch, length), generator=generator)
        with torch.inference_mode():
            hidden, logits = model.features(tokens), model(tokens)  # type: ignore[operator]
        right = [tuple(hidden.shape) == (batch, length, width), tuple(logits.shape) == (batch, length, vocabulary)]
        return {"hidden": float(hidden.dim() - 2), "logits": float(logits.dim() - 2), "three": float(right.count(False))}
