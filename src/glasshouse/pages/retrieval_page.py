"""A page that ranks prompts by their similarity to a picture: an HTML file that works offline, or an image file.

Knows nothing of models.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.pages import template
from glasshouse.pages.colours import LIGHT
from glasshouse.records import atomic_files
from glasshouse.results.retrieval import Retrieval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".html", ".png", ".svg")
ACCENT, INK, SOFT = LIGHT["accent"], LIGHT["ink"], LIGHT["soft"]
# Characters per line of text in an image file.
LINE_LENGTH = 24


def check_path(path: Path) -> None:
    """Raise an error if the page cannot be written to this path."""
    atomic_files.check_output(path, SUFFIXES)


def render(content: Retrieval) -> str:
    """The whole page."""
    highest = max([prompt.similarity for prompt in content.prompts] + [value for _, value in content.closest] + [1e-9])
    return template.fill(
        "retrieval.html",
        content=content,
        data_url=data_url,
        share=lambda value: f"{max(0.0, value / highest):.1%}",
        ordinal=ordinal,
    )


def data_url(picture: np.ndarray) -> str:
    """A picture as a data: URL."""
    from PIL import Image

    return template.image_url(Image.fromarray(picture))


def ordinal(number: int) -> str:
    """Format a rank: 1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def draw(content: Retrieval, path: Path) -> None:
    """Write an image file: the target, then a row for each prompt."""
    from matplotlib.figure import Figure

    columns = max([len(prompt.retrieved) for prompt in content.prompts] + [1])
    rows = len(content.prompts) + 1
    figure = Figure(figsize=(2.6 + 1.5 * columns, 1.95 * rows), layout="constrained")
    panels = figure.subplots(rows, columns + 1, squeeze=False, width_ratios=[1.6] + [1] * columns)
    for panel in panels.flat:
        panel.set_axis_off()
    _draw_text(panels[0, 0], f"{content.run}: {content.name}", content.caption)
    _draw_picture(panels[0, 1], content.target, "", framed=True)
    for row, prompt in zip(panels[1:], content.prompts, strict=True):
        caption_rank = f"{ordinal(prompt.caption_place)} of {content.captions:,} captions"
        picture_rank = f"target {ordinal(prompt.picture_place)} of {content.pictures:,} pictures"
        _draw_text(row[0], prompt.prompt, f"similarity {prompt.similarity:.3f}", caption_rank, picture_rank)
        for panel, retrieved in zip(row[1:], prompt.retrieved, strict=False):
            text = f"{retrieved.similarity:.3f}\n{_wrap(retrieved.caption)}"
            _draw_picture(panel, retrieved.picture, text, retrieved.is_target)
    figure.savefig(path, dpi=130)


def _draw_text(panel: Axes, first: str, *rest: str) -> None:
    panel.text(0, 0.95, _wrap(first), va="top", fontsize=10, weight="bold", color=INK, transform=panel.transAxes)
    panel.text(0, 0.55, "\n".join(map(_wrap, rest)), va="top", fontsize=8, color=SOFT, transform=panel.transAxes)


def _draw_picture(panel: Axes, picture: np.ndarray, text_below: str, framed: bool) -> None:
    panel.set_axis_on()
    panel.imshow(picture, interpolation="nearest")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_xlabel(text_below, fontsize=6.5, color=SOFT)
    for side in panel.spines.values():
        side.set(visible=framed, color=ACCENT, linewidth=3)


def _wrap(text: str) -> str:
    """Wrap text into short lines. Dollar signs are escaped, because matplotlib reads them as formulas."""
    lines = [""]
    for word in text.replace("$", r"\$").split():
        if lines[-1] and len(lines[-1]) + len(word) >= LINE_LENGTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
