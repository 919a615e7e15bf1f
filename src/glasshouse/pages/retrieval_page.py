"""What prompts say of a picture, as one HTML file that works offline or as a picture file. Knows nothing of models."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from glasshouse.pages import template
from glasshouse.records import atomic_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".html", ".png", ".svg")
ACCENT, INK, SOFT = "#1b7f5a", "#18221d", "#55645c"
# Letters of a caption on a line of a picture file.
LINE = 24


@dataclass(frozen=True)
class Retrieved:
    """A picture that a prompt found."""

    picture: np.ndarray
    caption: str
    similarity: float
    is_target: bool


@dataclass(frozen=True)
class Answer:
    """A prompt: its similarity to the target, its place among all captions, the target's among all pictures."""

    prompt: str
    similarity: float
    caption_place: int
    picture_place: int
    retrieved: tuple[Retrieved, ...]
    unknown: tuple[str, ...] = ()  # words that the tokenizer does not have


@dataclass(frozen=True)
class Retrieval:
    """A picture and what was asked of it, the best prompt first. Places count from 1."""

    run: str
    target: np.ndarray
    name: str  # which picture that is
    caption: str  # its own, where it has one
    answers: tuple[Answer, ...]
    closest: tuple[tuple[str, float], ...]  # captions most similar to the target, of all
    captions: int
    pictures: int


def check_path(path: Path) -> None:
    """Raise before any work where nothing could be written there."""
    atomic_files.check_output(path, SUFFIXES)


def render(content: Retrieval) -> str:
    """The whole page."""
    highest = max([answer.similarity for answer in content.answers] + [value for _, value in content.closest] + [1e-9])
    return template.fill(
        "prompting.html",
        content=content,
        data_url=data_url,
        share=lambda value: f"{max(0.0, value / highest):.1%}",
        ordinal=ordinal,
    )


def data_url(picture: np.ndarray) -> str:
    """A picture as an address that holds it whole."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def draw(content: Retrieval, path: Path) -> None:
    """The same as a picture file: the target, then a row for each prompt."""
    from matplotlib.figure import Figure

    columns = max([len(answer.retrieved) for answer in content.answers] + [1])
    rows = len(content.answers) + 1
    figure = Figure(figsize=(2.6 + 1.5 * columns, 1.95 * rows), layout="constrained")
    panels = figure.subplots(rows, columns + 1, squeeze=False, width_ratios=[1.6] + [1] * columns)
    for panel in panels.flat:
        panel.set_axis_off()
    _words(panels[0, 0], f"{content.run}: {content.name}", content.caption)
    _picture(panels[0, 1], content.target, "", framed=True)
    for line, answer in zip(panels[1:], content.answers, strict=True):
        places = f"{ordinal(answer.caption_place)} among {content.captions:,} captions"
        found = f"finds the target {ordinal(answer.picture_place)} of {content.pictures:,}"
        _words(line[0], answer.prompt, f"similarity {answer.similarity:.3f}", places, found)
        for panel, each in zip(line[1:], answer.retrieved, strict=False):
            _picture(panel, each.picture, f"{each.similarity:.3f}\n{_wrapped(each.caption)}", each.is_target)
    figure.savefig(path, dpi=130)


def _words(panel: Axes, first: str, *rest: str) -> None:
    panel.text(0, 0.95, _wrapped(first), va="top", fontsize=10, weight="bold", color=INK, transform=panel.transAxes)
    panel.text(0, 0.55, "\n".join(map(_wrapped, rest)), va="top", fontsize=8, color=SOFT, transform=panel.transAxes)


def _picture(panel: Axes, picture: np.ndarray, below: str, framed: bool) -> None:
    panel.set_axis_on()
    panel.imshow(picture, interpolation="nearest")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_xlabel(below, fontsize=6.5, color=SOFT)
    for side in panel.spines.values():
        side.set(visible=framed, color=ACCENT, linewidth=3)


def _wrapped(words: str) -> str:
    """Text in short lines, cut between words. A dollar sign would begin a formula."""
    lines = [""]
    for word in words.replace("$", r"\$").split():
        if lines[-1] and len(lines[-1]) + len(word) >= LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
