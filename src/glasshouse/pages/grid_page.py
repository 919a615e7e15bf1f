"""The page of a grid: a table of models, and for each question the answers of all models side by side. Works offline.

Knows nothing of models; numbers come as text.
"""

import re

from glasshouse.pages import template
from glasshouse.results.language_models import GridContent, ShownAnswer
from glasshouse.verdicts.proportions import Proportion

# A block of code in Markdown; one that was cut off ends with the text.
FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[^\n]*\n?|\Z)", re.DOTALL | re.MULTILINE)


def render(content: GridContent) -> str:
    with_cost = any(model.cost for model in content.models)
    return template.fill("grid.html", content=content, with_cost=with_cost, parts=parts, share=share, spread=interval)


def parts(answer: ShownAnswer) -> list[tuple[bool, str]]:
    """An answer in parts: whether a part is a block of code, and its text."""
    found, end = [], 0
    for block in FENCE.finditer(answer.text):
        found += [(False, answer.text[end : block.start()]), (True, block.group(1))]
        end = block.end()
    found.append((False, answer.text[end:]))
    return [(code, text.strip("\n")) for code, text in found if text.strip()]


def share(shown: Proportion) -> str:
    """A share as text: "25 %"."""
    return f"{100 * shown.share:.0f} %"


def interval(shown: Proportion) -> str:
    """The interval of a share as text: "12 to 40 %"."""
    return f"{100 * shown.low:.0f} to {100 * shown.high:.0f} %"
