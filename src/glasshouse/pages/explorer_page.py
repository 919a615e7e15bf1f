"""The explorer: one offline HTML page on which a reader follows a token through a model, step by step, with its numbers.

Knows nothing of models: an `Exploration` holds the steps and their numbers.
"""

import base64
from dataclasses import dataclass, field

import numpy as np

from glasshouse import formatting
from glasshouse.pages import template
from glasshouse.specs.errors import GlasshouseError

# A page holds every number in four bytes.
MOST_NUMBERS = 12_000_000


@dataclass(frozen=True)
class Step:
    """One step of the forward pass.

    `kind` says what the array holds: "vector" (T, D), a vector per token; "head-vector" (H, T, E), one per head and token;
    "head-row" (H, T, K), a number per head, token and key; "output" (R, V), a number per prediction and output.
    """

    title: str
    formula: str
    about: str
    kind: str
    array: np.ndarray
    mask: bool = False  # whether a row holds minus infinity or zero where the mask hides a key


@dataclass(frozen=True)
class Exploration:
    """The steps before the layers, those of each layer, and those after them."""

    title: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    before: tuple[Step, ...]
    layers: tuple[tuple[Step, ...], ...]
    after: tuple[Step, ...]
    heads: int
    outputs: tuple[str, ...]  # the name of every output
    predicts: str  # "next", "own" or "whole"
    sources: tuple[str, ...] = ()  # the keys of a cross-attention
    notes: tuple[str, ...] = field(default_factory=tuple)


def render(content: Exploration) -> str:
    """The whole page."""
    numbers = sum(
        step.array.size for step in (*content.before, *(s for layer in content.layers for s in layer), *content.after)
    )
    if numbers > MOST_NUMBERS:
        raise GlasshouseError(
            "too-many-numbers",
            f"this text has {numbers:,} numbers on its way through the model, too many for a page (at most "
            f"{MOST_NUMBERS:,}); choose a shorter text or a smaller model",
        )
    data = {
        "tokens": [formatting.visible(token) for token in content.tokens],
        "sources": [formatting.visible(token) for token in content.sources],
        "ids": content.ids,
        "heads": content.heads,
        "outputs": [formatting.visible(name) for name in content.outputs],
        "predicts": content.predicts,
        "before": [_packed(step) for step in content.before],
        "layers": [[_packed(step) for step in layer] for layer in content.layers],
        "after": [_packed(step) for step in content.after],
    }
    return template.fill(
        "explorer.html",
        styles=("page.css", "explorer.css"),
        scripts=("page.js", "explorer.js"),
        content=content,
        tokens=data["tokens"],
        data=data,
    )


def _packed(step: Step) -> dict[str, object]:
    values = np.ascontiguousarray(step.array, dtype="<f4")
    return {
        "title": step.title,
        "formula": step.formula,
        "about": step.about,
        "kind": step.kind,
        "shape": values.shape,
        "mask": step.mask,
        "numbers": base64.b64encode(values.tobytes()).decode("ascii"),
    }
