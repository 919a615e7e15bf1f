"""Prints a finished study: tables of its arms, a verdict for each, notes and paths."""

from collections import Counter

from glasshouse import Study
from glasshouse.cli.jobs import print_submission
from glasshouse.cli.tables import console, show
from glasshouse.launching.submission import Submission
from glasshouse.pages import study_checks, study_tables
from glasshouse.results import study_text
from glasshouse.results.study import StudyResults


def print_outcome(outcome: Study | Submission) -> None:
    """Print a study, or the jobs that run it."""
    if isinstance(outcome, Study):
        print_study(outcome)
    else:
        print_submission(outcome)


def print_study(study: Study) -> None:
    """Print tables, verdicts, notes and paths."""
    comparison = study.comparison
    rows = study_tables.rows(comparison)
    columns, costs = study_tables.COLUMNS, study_tables.COSTS
    results = [
        (
            row.label,
            *(row.cells[column.title].short for column in columns),
            row.verdict or ("diverged" if arm.diverged and not arm.summary else ""),
        )
        for arm, row in zip(comparison.arms, rows, strict=True)
    ]
    # The column of the means has the name of the metric.
    titles = [comparison.metric if column.title == "mean" else column.title for column in columns]
    show(("arm", *titles, "verdict"), results, right=range(1, len(titles) + 1))
    cost_titles = [column.title for column in costs]
    show(("arm", *cost_titles), [(row.label, *row.texts(costs)) for row in rows], right=range(1, len(costs) + 1))
    lines = {arm.name: study_text.verdict_lines(arm) for arm in comparison.arms}
    for name, sentence in study.verdicts.items():
        first, *others = lines[name] or [sentence]
        console.print(first)
        for line in others:
            console.print(f"    {line}", style="dim")
    console.print()
    for warning in comparison.edges:
        console.print(f"warning {warning}")
    if pairs := study_checks.pair_table(comparison):
        console.print(pairs.note)
        show(pairs.columns, pairs.rows, right=(2, 3, 4))
    _print_checks(comparison)
    for note in (*study_tables.notes(comparison), *comparison.notes):
        console.print(f"note    {note}")
    console.print(f"study   {study.folder.path}")
    console.print(f"report  {study.report}")


def _print_checks(comparison: StudyResults) -> None:
    """Print the multiverse, the replications and the registration."""
    if table := study_checks.multiverse(comparison):
        show((*table.choices, *table.arms), [(*choices, *(cell.text for cell in cells)) for choices, cells in table.rows])
        for sentence in table.summary:
            console.print(sentence)
        console.print()
    for outcome in comparison.replications:
        console.print(study_checks.replication_summary(comparison, outcome))
        show(("arm", outcome.original, outcome.replication, "verdict"), study_checks.replicated_arms(outcome))
    if registration := study_checks.registration(comparison):
        console.print(registration)


def summary(comparison: StudyResults) -> str:
    """The verdicts in a few words: one for each arm, or the number of each verdict if there are many arms."""
    words = {arm.name: arm.difference.word for arm in comparison.arms if arm.difference}
    words |= {arm.name: "diverged" for arm in comparison.arms if arm.values and len(arm.diverged) == len(arm.values)}
    if len(words) <= 3:
        return "; ".join(f"{name} {word}" for name, word in words.items())
    counts = Counter(words.values())
    return ", ".join(f"{counts[word]} {word}" for word in (*study_text.SYMBOLS, "diverged") if counts[word])
