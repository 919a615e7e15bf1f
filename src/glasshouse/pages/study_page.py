"""The HTML page of a study, and its figure as an image file. Everything comes from `StudyResults`."""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glasshouse import formatting
from glasshouse.pages import (
    figures,
    study_checks,
    study_curves,
    study_differences,
    study_sweep,
    study_tables,
    svg_chart,
    template,
)
from glasshouse.results import study_text
from glasshouse.results.study import Arm, StudyResults
from glasshouse.verdicts.verdict import NO_DIFFERENCE, UNDECIDED

RunPaths = Mapping[str, Mapping[int, tuple[str, str]]]


def render(comparison: StudyResults, runs: RunPaths | None = None) -> str:
    """The whole page. It is complete without JavaScript; the scripts only add interaction.

    `runs` are linked from the page: arm -> seed -> path of the run from the study's folder, and address of its page.
    """
    rows = study_tables.rows(comparison)
    different_costs, shared_costs = study_tables.costs(rows)
    return template.fill(
        "study.html",
        ("page.css", "study.css"),
        ("page.js", "charts.js"),
        study=comparison,
        runs=runs or {},
        description=" ".join(study_text.description(comparison)),
        progress=progress(comparison),
        headline=headline(comparison),
        verdicts=[_verdict(arm, comparison.first_arm) for arm in comparison.arms],
        level=formatting.percent(1 - comparison.rule.alpha),
        differences=study_differences.differences(comparison),
        difference_remarks=study_differences.remarks(comparison),
        curves=study_curves.panel(comparison),
        training=study_curves.training_panel(comparison),
        rows=[(row, style.classes) for row, style in zip(rows, study_differences.styles(comparison), strict=True)],
        columns=study_tables.COLUMNS,
        costs=different_costs,
        shared=shared_costs,
        sweep=study_sweep.sweep(comparison),
        draw=svg_chart.draw,
        method=method(comparison),
        created=formatting.utc(comparison.created),
        registration=study_checks.registration(comparison),
        replications=[
            (
                study_checks.replication_summary(comparison, outcome),
                outcome.original if outcome.replication == comparison.name else outcome.replication,
                study_checks.replicated_arms(outcome),
            )
            for outcome in comparison.replications
        ],
        multiverse=study_checks.multiverse(comparison),
        pairs=study_checks.pair_table(comparison),
        tables=(("LaTeX", study_tables.latex(comparison)), ("Markdown", study_tables.markdown(comparison))),
        symbols=study_text.SYMBOLS,
    )


def draw(comparison: StudyResults, path: Path) -> None:
    """The figure as an image file: differences on the left, every seed's curve on the right."""
    panel = study_curves.panel(comparison)
    heading = f"{panel.title} by {panel.heading}" if panel.heading else panel.title
    charts = {"": study_differences.differences(comparison), heading: panel.chart}
    figures.draw(charts, path, 11.0, max(4.0, 1.5 + 0.42 * len(comparison.arms)))


def progress(comparison: StudyResults) -> str:
    """A sentence on the progress of an unfinished study; the empty string for a finished one."""
    done, planned = study_text.run_counts(comparison)
    if comparison.status == "done":
        return ""
    state = {"training": "Still running", "interrupted": "Interrupted"}.get(
        comparison.status, comparison.status.capitalize()
    )
    return f"{state}: {done} of {planned} runs are done. All numbers and verdicts on this page are provisional."


def headline(comparison: StudyResults) -> list[tuple[str, str]]:
    """(title, number) for each tile at the top: the count of each verdict, and the size of the study."""
    counts = Counter(arm.difference.word for arm in comparison.arms if arm.difference)
    done, planned = study_text.run_counts(comparison)
    seconds = sum(arm.seconds * len(arm.values) for arm in comparison.arms if math.isfinite(arm.seconds))
    tiles = [(verdict, str(counts[verdict])) for verdict in study_text.SYMBOLS if counts[verdict]]
    tiles.append(("arms", str(len(comparison.arms))))
    tiles.append(("runs", str(done) if done == planned else f"{done} of {planned}"))
    if seconds > 0:
        tiles.append(("total training time", formatting.duration(seconds)))
    return tiles


def method(comparison: StudyResults) -> list[str]:
    """Paragraphs that explain how the verdicts were reached."""
    alpha, margin = f"{comparison.rule.alpha:g}", study_text.margin_in_words(comparison)
    spending = ", divided among the interim tests" if comparison.rule.looks else ""
    items = [
        f"The {comparison.items:,} {comparison.item_name} of the evaluation are a sample too. The standard error of a "
        f"difference has a part that more seeds reduce and a part that only more {comparison.item_name} reduce (two-way "
        f"random effects). So a verdict is about {comparison.item_name} like these, and not about these alone."
    ]
    fixed_text = [
        "The held-out text is the same for every run and is taken as it is. So a verdict is about new seeds on this text, "
        "and not about other texts."
    ]
    return [
        "Arms are paired by seed: with the same seed, every arm sees the same data in the same order. The differences are "
        "taken seed by seed, so effects of the seed that all arms share cancel out.",
        "An arm is better or worse than the first arm if the p-value of a paired t-test, adjusted for skewness and "
        f"corrected for the number of arms by Holm's method, is at most {alpha}{spending}.",
        "The verdict “no difference” needs evidence too: two one-sided tests, with the same correction, must show that the "
        f"difference is smaller than the margin of {margin} in both directions. This comes first: such a difference is too "
        "small to matter, even if its direction is certain. If neither can be shown, the verdict is undecided.",
        *(items if comparison.items else fixed_text),
    ]


def _verdict(arm: Arm, first: Arm) -> dict[str, Any]:
    """An arm's entry in the list of verdicts: plain words, cautions beside them, and the statistics for a disclosure.

    The first arm has no verdict unless it has no result.
    """
    word, sentence = "no result", ""
    statistics: list[str] = []
    difference = arm.difference
    if difference is not None:
        word, sentence = difference.word, arm.plain or difference.sentence
        statistics = [study_text.sentence(difference.sentence)] if arm.plain else []
        if math.isfinite(difference.smallest) and word in (NO_DIFFERENCE, UNDECIDED):
            pairs = f"{difference.pairs} pair{'' if difference.pairs == 1 else 's'} of seeds"
            smallest = formatting.number(difference.smallest)
            statistics.append(f"With {pairs}, a true difference of {smallest} would be detected with 80 % probability.")
    elif arm.diverged and set(arm.diverged) >= set(arm.seeds):
        sentence = f"{arm.name}: every seed diverged"
    elif arm.summary is None:
        sentence = f"{arm.name}: no seed has finished yet"
    elif arm is first:
        word = ""
    elif study_differences.paired_differences(arm, first):
        sentence = f"{arm.name}: too few seeds have finished in both this arm and {first.name} for a test"
    else:
        sentence = f"{arm.name}: no seed has finished in both this arm and {first.name}"
    return {
        "word": word,
        "kind": word.replace(" ", "-"),
        "arm": arm.name,
        # A number and its percent sign stay on one line.
        "plain": study_text.sentence(sentence).replace(" %", "\u00a0%") if sentence else "",
        "cautions": [
            study_text.sentence(text, capital=True) for text in (arm.caution, study_text.fragility(difference)) if text
        ],
        "statistics": statistics,
    }
