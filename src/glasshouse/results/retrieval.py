"""Prompts ranked by their similarity to a picture, as plain data. Knows no model."""

from dataclasses import dataclass

import numpy as np

from glasshouse.results.shown import Shown


@dataclass(frozen=True)
class Retrieved:
    picture: np.ndarray
    caption: str
    similarity: float
    is_target: bool


@dataclass(frozen=True)
class RankedPrompt:
    """A prompt with its similarity to the target, and the pictures that it retrieves.

    `caption_place` is the prompt's rank for the target among all captions; `picture_place` is the target's rank for the
    prompt among all pictures. Ranks start at 1.
    """

    prompt: str
    similarity: float
    caption_place: int
    picture_place: int
    retrieved: tuple[Retrieved, ...]
    unknown: tuple[str, ...] = ()  # words outside the vocabulary


@dataclass(frozen=True)
class Retrieval(Shown):
    """A target picture and the prompts that were compared with it, the most similar first."""

    run: str
    target: np.ndarray
    name: str  # the target: a file name or "held-out picture 3"
    caption: str  # of the target; may be empty
    prompts: tuple[RankedPrompt, ...]
    closest: tuple[tuple[str, float], ...]  # the captions most similar to the target
    captions: int  # number of captions searched
    pictures: int  # number of pictures searched
