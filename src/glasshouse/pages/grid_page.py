"""The page of a grid: a table of models, and for each question the answers of all models side by side. Works offline.

Knows nothing of models; numbers come as text.
"""

import re
from dataclasses import dataclass

from glasshouse.pages import template

# A block of code in Markdown; one that was cut off ends with the text.
FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE)
RIGHT, WRONG, READ = "right", "wrong", "read"


@dataclass(frozen=True)
class ShownAnswer:
    """An answer. `mark` is right, wrong or read (no check); `facts` are its seed, tokens and time."""

    text: str
    mark: str
    reason: str
    facts: str

    @property
    def parts(self) -> list[tuple[bool, str]]:
        """The text in parts: whether it is a block of code, and what stands there."""
        parts, end = [], 0
        for block in FENCE.finditer(self.text):
            parts += [(False, self.text[end : block.start()]), (True, block.group(1))]
            end = block.end()
        parts.append((False, self.text[end:]))
        return [(code, text.strip("\n")) for code, text in parts if text.strip()]


@dataclass(frozen=True)
class ShownColumn:
    """The answers of one model to one question."""

    model: str
    summary: str  # "4 of 5 right"
    answers: tuple[ShownAnswer, ...]


@dataclass(frozen=True)
class ShownQuestion:
    """One question with the answers of all models."""

    name: str
    prompt: str
    system: str
    checks: tuple[str, ...]
    columns: tuple[ShownColumn, ...]


@dataclass(frozen=True)
class ShownInterval:
    """A share of 1 with its interval, to draw and to read; None where there is none."""

    share: float
    low: float
    high: float

    @property
    def text(self) -> str:
        return f"{self.share:.0%}".replace("%", " %")

    @property
    def range(self) -> str:
        return f"{100 * self.low:.0f} to {100 * self.high:.0f} %"


@dataclass(frozen=True)
class ShownModel:
    """A row of the table of models."""

    name: str
    identity: str
    accuracy: ShownInterval | None
    right: str  # "7 of 15"
    agreement: ShownInterval | None
    tokens: str
    time: str
    cost: str


@dataclass(frozen=True)
class GridContent:
    """A whole grid."""

    title: str
    subtitle: str
    models: tuple[ShownModel, ...]
    comparisons: tuple[str, ...]
    notes: tuple[str, ...]
    questions: tuple[ShownQuestion, ...]
    command: str


def render(content: GridContent) -> str:
    """The whole page."""
    return template.fill("grid.html", content=content, with_cost=any(model.cost for model in content.models))
