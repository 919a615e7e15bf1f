"""A study as one HTML file that works offline, and as a picture file: `render` and `draw` show a `Comparison`.

Knows nothing of study folders or runs: everything it shows is in the data it is given. The tables for a paper, which the
page offers to copy, are those of `study_tables`.
"""

import math
import time
from collections import Counter

from glasshouse import formatting
from glasshouse.pages import study_curves, study_differences, study_sweep, study_tables, study_text, template
from glasshouse.pages.study_content import Arm, StudyResults
from glasshouse.pages.study_figure import draw

__all__ = ["Arm", "StudyResults", "draw", "render"]

STYLES = ("report.css", "study.css")
SCRIPTS = ("page.js", "charts.js")


def render(comparison: StudyResults) -> str:
    """The whole page. It is drawn here, so that it reads without JavaScript; the scripts add pointing and choosing."""
    rows = study_text.rows(comparison)
    own, shared = study_tables.costs(rows)
    return template.fill(
        "study.html",
        STYLES,
        SCRIPTS,
        study=comparison,
        statement=" ".join(study_text.statement(comparison)),
        progress=progress(comparison),
        headline=headline(comparison),
        verdicts=[_verdict(arm, style, comparison.arms[0]) for arm, style in _styled(comparison)],
        level=formatting.percent(1 - comparison.rule.alpha),
        differences=study_differences.differences(comparison),
        difference_remarks=study_differences.remarks(comparison),
        curve=study_text.curve(comparison),
        curves=study_curves.curves(comparison),
        rows=[(row, style.classes) for row, (_, style) in zip(rows, _styled(comparison), strict=True)],
        costs=own,
        cost_names=study_tables.COSTS,
        shared=study_tables.shared_costs(shared),
        sweep=study_sweep.sweep(comparison),
        method=method(comparison),
        created=_moment(comparison.created),
        tables=(("LaTeX", study_tables.latex(comparison)), ("Markdown", study_tables.markdown(comparison))),
        marks=study_text.MARKS,
    )


def progress(comparison: StudyResults) -> str:
    """Where a study stands that is not done; nothing for one that is."""
    done, wanted = study_text.runs(comparison)
    if comparison.status == "done":
        return ""
    stands = {"training": "Still running", "interrupted": "Interrupted"}.get(
        comparison.status, comparison.status.capitalize()
    )
    return f"{stands}: {done} of {wanted} runs are done. Until all are, every figure and verdict here is provisional."


def headline(comparison: StudyResults) -> list[tuple[str, str]]:
    """(name, figure): how often each verdict was reached, and what that took."""
    words = Counter(arm.difference.word for arm in comparison.arms if arm.difference)
    done, wanted = study_text.runs(comparison)
    seconds = sum(arm.seconds * len(arm.values) for arm in comparison.arms if math.isfinite(arm.seconds))
    tiles = [(word, str(words[word])) for word in study_text.MARKS if words[word]]
    tiles.append(("arms", str(len(comparison.arms))))
    tiles.append(("runs", str(done) if done == wanted else f"{done} of {wanted}"))
    if seconds > 0:
        tiles.append(("training in all", formatting.duration(seconds)))
    return tiles


def method(comparison: StudyResults) -> list[str]:
    """How the verdicts were reached, in three sentences."""
    alpha, margin = f"{comparison.rule.alpha:g}", study_text.margin_in_words(comparison)
    spent = ", of which each look spends its part" if comparison.rule.looks else ""
    return [
        "Seeds pair the arms: with the same seed, each arm sees the same data in the same order, so arms are compared seed "
        "by seed, and what makes a seed easy or hard for all of them cancels out.",
        "An arm is better or worse when a paired t-test tells it from the first arm: its p-value, corrected for the number "
        f"of arms by Holm's method, is below {alpha}{spent}.",
        "No difference is a finding of its own, never the mere lack of one: two one-sided tests, corrected likewise, show "
        f"the difference to be smaller than the margin of {margin} in both directions; where neither can be shown, the "
        "verdict is undecided.",
    ]


def _styled(comparison: StudyResults) -> list[tuple[Arm, study_differences.Style]]:
    return list(zip(comparison.arms, study_differences.styles(len(comparison.arms)), strict=True))


def _verdict(arm: Arm, style: study_differences.Style, first: Arm) -> dict[str, str]:
    word, sentence, more = "no result", "", ""
    difference = arm.difference
    if difference is not None:
        word, sentence = difference.word, difference.sentence
        if math.isfinite(difference.smallest) and word in ("no difference", "undecided"):
            pairs = f"{difference.pairs} pair{'' if difference.pairs == 1 else 's'} of seeds"
            more = f"{pairs} would find a difference of {formatting.number(difference.smallest)} four times in five."
    elif arm.diverged and set(arm.diverged) >= set(arm.seeds):
        sentence = f"{arm.name}: every seed diverged"
    elif arm.summary is None:
        sentence = f"{arm.name}: no seed has come through yet"
    elif arm is first:
        word = ""
    elif study_differences.paired(arm, first):
        sentence = f"{arm.name}: too few seeds have come through both here and in {first.name} to judge by"
    else:
        sentence = f"{arm.name}: no seed has come through both here and in {first.name}"
    return {
        "word": word,
        "kind": word.replace(" ", "-"),
        "sentence": sentence,
        "more": more,
        "classes": style.classes,
    }


def _moment(seconds: float) -> str:
    """A point in time, the same wherever the page is made."""
    if not 0 < seconds < 253402300800:
        return ""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
