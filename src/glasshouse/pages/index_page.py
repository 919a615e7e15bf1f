"""The index page over runs and studies: `render` turns an `IndexContent` into one file that works offline.

The same page is served while things train. Then `live` is true, its links lead to the server, and a script refreshes it.
"""

from collections import Counter
from typing import Any

from glasshouse import formatting
from glasshouse.metrics.metric import BITS_PER_BYTE, LOSS, PERPLEXITY, WORD_PERPLEXITY
from glasshouse.metrics.regression import MAE, RMSE
from glasshouse.pages import svg_chart, template
from glasshouse.pages.page_links import GENERATOR
from glasshouse.records.run_entries import Points
from glasshouse.results import study_text
from glasshouse.results.index import IndexContent
from glasshouse.results.study_text import SYMBOLS

STYLES = ("page.css", "study.css", "index.css")
SCRIPTS = ("page.js", "charts.js", "index.js")
# Of the metrics that are main figures, those where lower is better.
LOWER = (LOSS, PERPLEXITY, WORD_PERPLEXITY, BITS_PER_BYTE, RMSE, MAE)
_POWERS = {superscript: plain for plain, superscript in formatting.SUPERSCRIPTS.items()}
# Curves of so many runs are shown when the page opens: those that changed last.
FIRST_CHOSEN = 3


def render(content: IndexContent, live: bool = False) -> str:
    """The whole page. Tables are complete without JavaScript; filter, sort and curves need it."""
    return template.fill(
        "index.html",
        STYLES,
        SCRIPTS,
        content=content,
        live=live,
        generator=GENERATOR,
        counts=status_counts(content),
        curves={run.key: curve_lists(run.curves) for run in content.runs if run.curves},
        **_functions(content),
    )


def render_rows(content: IndexContent) -> dict[str, str]:
    """What the served page replaces when something has changed: the rows of both tables, and the line above them."""
    rows = {
        name: template.fill(f"index_{name}.html", (), content=content, **_functions(content)) for name in ("runs", "studies")
    }
    return {**rows, "counts": status_counts(content)}


def status_counts(content: IndexContent) -> str:
    own = [run for run in content.runs if not run.study]
    detail = ", ".join(f"{number:,} {state}" for state, number in Counter(run.status for run in own).most_common())
    runs = _counted(len(own), "run", "runs") + (f" ({detail})" if detail else "")
    in_studies = f" with {_counted(len(content.runs) - len(own), 'run', 'runs')}" if content.studies else ""
    return f"{runs}, {_counted(len(content.studies), 'study', 'studies')}{in_studies}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def curve_lists(curves: dict[str, Points]) -> dict[str, list[list[float | int | None]]]:
    """Curves with few digits, as the script reads them."""
    return {
        name: [svg_chart.rounded(steps, digits=12), svg_chart.rounded(values)] for name, (steps, values) in curves.items()
    }


def _functions(content: IndexContent) -> dict[str, Any]:
    newest = sorted((run for run in content.runs if run.has_curves and not run.study), key=lambda run: -run.changed)
    return {
        "duration": lambda seconds: formatting.duration(seconds) if seconds else formatting.MISSING,
        "moment": moment,
        "steps": lambda run: f"{run.steps:,}" + (f" of {run.total_steps:,}" if run.total_steps > run.steps else ""),
        "sort_value": sort_value,
        "symbols": SYMBOLS,
        "better": better,
        "verdict_counts": verdict_counts,
        "sentence": study_text.sentence,
        "chosen": {run.key for run in newest[:FIRST_CHOSEN]},
        "in_runs": any(not run.study for run in content.runs),
    }


def sort_value(figure: str) -> str:
    """A main figure as the script that sorts can read it: 1.235e30 for 1.235×10³⁰."""
    mantissa, times, power = figure.partition("×10")
    return f"{mantissa}e{power.translate(_POWERS)}" if times else figure


def better(title: str) -> str:
    """Whether higher or lower is better, from the title of a main figure: "validation loss"."""
    return "lower" if any(title.endswith(metric.title) for metric in LOWER) else "higher"


def verdict_counts(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """The word of a single verdict; of several, each word with its number: "1 worse", "2 undecided"."""
    if len(words) == 1:
        return [(words[0], words[0])]
    counts = Counter(words)
    return [(word, f"{counts[word]} {word}") for word in SYMBOLS if counts[word]]


def moment(seconds: float) -> str:
    """A time in UTC; a dash if it is not known."""
    return formatting.utc(seconds).removesuffix(" UTC") or formatting.MISSING
