"""What a command prints once a study is done: tables of its arms, a sentence of verdict for each, notes, where it lies."""

from collections import Counter

from glasshouse import Study
from glasshouse.cli.tables import console, show
from glasshouse.pages import study_tables, study_text
from glasshouse.pages.study_content import StudyResults


def print_study(study: Study) -> None:
    """Tables, verdicts, notes and paths."""
    comparison = study.comparison
    _print_arms(comparison)
    _print_costs(comparison)
    for sentence in study.verdicts.values():
        console.print(sentence, markup=False, soft_wrap=True)
    console.print()
    for note in (*study_tables.table(comparison).notes, *comparison.notes):
        console.print(f"note    {note}", markup=False, soft_wrap=True)
    console.print(f"study   {study.folder.path}", markup=False, soft_wrap=True)
    console.print(f"report  {study.report}", markup=False, soft_wrap=True)


def _print_arms(comparison: StudyResults) -> None:
    """Each arm's mean and its difference from the first, with half the width of their intervals."""
    rows = study_text.rows(comparison)
    cells = [
        (
            row.label,
            mean,
            difference,
            row.p,
            row.effect,
            row.word or ("diverged" if arm.diverged and not arm.summary else ""),
        )
        for arm, row, (mean, difference) in zip(comparison.arms, rows, study_text.halved(comparison), strict=True)
    ]
    show(("arm", comparison.metric, "difference", "p", "effect", "verdict"), cells, right=range(1, 5))


def _print_costs(comparison: StudyResults) -> None:
    """What a run of each arm takes."""
    rows = study_text.rows(comparison)
    names = list(rows[0].costs)
    cells = [(row.label, row.seeds, *(row.costs[name] for name in names)) for row in rows]
    show(("arm", "seeds", *names), cells, right=range(1, len(names) + 2))


def shortest(comparison: StudyResults) -> str:
    """The verdicts in a few words: what became of each of a few arms, or how many of each verdict."""
    words = {arm.name: arm.difference.word for arm in comparison.arms[1:] if arm.difference}
    words |= {arm.name: "diverged" for arm in comparison.arms if arm.values and len(arm.diverged) == len(arm.values)}
    if len(words) <= 3:
        return "; ".join(f"{name} {word}" for name, word in words.items())
    counts = Counter(words.values())
    return ", ".join(f"{counts[word]} {word}" for word in (*study_text.MARKS, "diverged") if counts[word])
