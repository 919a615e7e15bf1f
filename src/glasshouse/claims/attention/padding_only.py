"""Claim: sequences of unequal length need padding and nothing more."""

from collections.abc import Mapping
from typing import ClassVar

import torch

from glasshouse.claims.claim import GROUPS, LineFigure, Quantity
from glasshouse.claims.random_check import RandomCheck, differing, draw
from glasshouse.claims.rules import zero
from glasshouse.parts import MultiHeadAttention
from glasshouse.parts.masks import sequence_mask

PADDING = (0, 1, 2, 4, 8, 16)


class PaddingOnly(RandomCheck):
    """Pads a random sequence to the length of a longer one, without and with an attention mask."""

    group = GROUPS[0]
    statement = "Sequences of unequal length need padding and nothing more."
    source = "course work on attention: a question on batches"
    reported = "asserted"
    why = "Padding gives all sequences of a batch the same shape, and the outputs at the padding can be ignored."
    procedure = (
        "A random sequence goes through a multi-head attention with random weights, alone and padded with zero vectors to "
        "twice its length. Padding is enough if its real tokens have the same outputs. Beside it, the padded sequence has "
        "a mask that hides the padding. Outputs that differ by less than 1e-5 are the same."
    )
    would_change = "An attention without a softmax over all keys, such as a window in which no padding lies."
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "without": Quantity("outputs of real tokens that change, without a mask", "count", "numbers"),
        "with": Quantity("outputs of real tokens that change, with a mask", "count", "numbers"),
        **{
            f"{way}/{tokens}": Quantity(f"largest change with {tokens} padding tokens, {way}", "largest difference")
            for way in ("without a mask", "with a mask")
            for tokens in PADDING
        },
    }
    parts = (
        zero("without", name="padding changes no output of a real token"),
        zero("with", name="repaired, with an attention mask: padding changes no output", decides=False),
    )
    figures = (
        LineFigure(
            "change",
            "padding tokens after a sequence of 8",
            "largest change of an output",
            {way: {tokens: f"{way}/{tokens}" for tokens in PADDING} for way in ("without a mask", "with a mask")},
        ),
    )

    def check(self, generator: torch.Generator) -> Mapping[str, float]:
        torch.manual_seed(draw(generator, 0, 2**31 - 1))
        heads = draw(generator, 1, 4)
        attention = MultiHeadAttention(heads * draw(generator, 4, 16), heads)
        values: dict[str, float] = {}
        with torch.inference_mode():
            length = draw(generator, 2, 16)
            for key in ("without", "with"):
                values[key] = differing(*_outputs(attention, length, length, key == "with", generator))
            for way in ("without a mask", "with a mask"):
                for tokens in PADDING:
                    alone, padded = _outputs(attention, 8, tokens, way == "with a mask", generator)
                    values[f"{way}/{tokens}"] = float((alone - padded).abs().max())
        return values


def _outputs(
    attention: MultiHeadAttention, length: int, padding: int, masked: bool, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """(outputs of a sequence alone, outputs of the same tokens with padding after them)."""
    x = torch.randn(1, length, attention.width, generator=generator)
    padded = torch.cat([x, torch.zeros(1, padding, attention.width)], 1)
    mask = sequence_mask(torch.tensor([length]) if masked else None)
    return attention(x), attention(padded, mask)[:, :length]
