"""A token's way through a model: the steps of a forward pass with their numbers. Knows no model and no page."""

from dataclasses import dataclass

import numpy as np

from glasshouse.results.shown import Shown


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
class Exploration(Shown):
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
    notes: tuple[str, ...] = ()
