"""What stands beside the verdicts of a study, as text: registration, replications, multiverse, all pairs. Knows no HTML."""

from collections import Counter
from dataclasses import dataclass

from glasshouse.formatting import MISSING, decimals, interval, join_with_and, number, p_value, utc
from glasshouse.results import study_text
from glasshouse.results.study import MultiverseCell, ReplicationOutcome, StudyResults
from glasshouse.results.table import Table
from glasshouse.verdicts.verdict import Difference

NO_VERDICT = "no verdict"


@dataclass(frozen=True)
class VerdictCell:
    """A verdict with its difference and interval, and whether its word is that of the study itself."""

    word: str
    difference: str
    interval: str
    holds: bool

    @property
    def text(self) -> str:
        return f"{self.word} {self.difference} ({self.interval})" if self.interval else f"{self.word} {self.difference}"


@dataclass(frozen=True)
class ChoiceTable:
    """The multiverse as a table: the choices, a column for each arm but the first, and a sentence for each arm."""

    choices: tuple[str, ...]
    arms: tuple[str, ...]
    rows: list[tuple[list[str], list[VerdictCell]]]  # the choices of a row, and a cell for each arm
    summary: list[str]


def registration(comparison: StudyResults) -> str:
    """When the study was registered, and with which digest; the empty string for a study that was not."""
    if comparison.registration is None:
        return ""
    registered = comparison.registration
    return f"Registered before the first run, {utc(registered.time)}. Digest of the plan (SHA-256): {registered.digest}"


def replication_summary(comparison: StudyResults, outcome: ReplicationOutcome) -> str:
    """A sentence on a replication: of which study it is one, and in how many arms the verdict was the same."""
    this = outcome.replication == comparison.name
    what = f"This study is a replication of {outcome.original}" if this else f"{outcome.replication} replicates this study"
    what += ", with seeds that no study of the question had used before"
    if not outcome.words:
        return f"{what}. {outcome.original} is not in this folder, so its verdicts are not known here."
    pairs = [(original, replication) for original, replication in outcome.words.values() if original and replication]
    same = sum(original == replication for original, replication in pairs)
    if not pairs:
        agreement = "There is no verdict in both studies yet."
    elif len(pairs) == 1:
        agreement = f"The verdict was {'the same' if same else 'not the same'}."
    else:
        agreement = f"The verdict of {same} of {len(pairs)} arms was the same."
    return f"{what}. {agreement}" + ("" if outcome.finished else " Not final: not all runs are done.")


def replicated_arms(outcome: ReplicationOutcome) -> list[tuple[str, str, str, str]]:
    """For each arm but the first: its verdict in the original study and in the replication, and whether it is the same."""
    rows = []
    for arm, (original, replication) in outcome.words.items():
        same = "same" if original == replication else "not the same"
        rows.append((arm, original or NO_VERDICT, replication or NO_VERDICT, same if original and replication else MISSING))
    return rows


def multiverse(comparison: StudyResults) -> ChoiceTable | None:
    """The verdicts under other choices; None for a study without a multiverse."""
    cells = comparison.multiverse
    main = next((cell for cell in cells if cell.main), None)
    if main is None:
        return None
    choices = tuple(dict.fromkeys(name for cell in cells for name in cell.choices))
    arms = tuple(arm.name for arm in comparison.other_arms)
    intervals = [(found.low, found.high) for cell in cells for found in cell.differences.values()]
    places = decimals(intervals)
    rows = [
        (
            [cell.choices.get(name, MISSING) for name in choices],
            [_verdict_cell(cell.differences.get(arm), main.differences.get(arm), places) for arm in arms],
        )
        for cell in cells
    ]
    return ChoiceTable(choices, arms, rows, [_arm_summary(arm, main, cells) for arm in arms])


def _verdict_cell(found: Difference | None, main: Difference | None, places: int | None) -> VerdictCell:
    if found is None:
        return VerdictCell(NO_VERDICT, "", "", holds=main is None)
    ends = interval(found.low, found.high, places, signed=True)
    holds = main is not None and found.word == main.word
    return VerdictCell(found.word, number(found.mean, places, signed=True), ends, holds)


def _arm_summary(arm: str, main: MultiverseCell, cells: tuple[MultiverseCell, ...]) -> str:
    """In how many cells the verdict of an arm holds, and on which choices it depends."""
    word = _word(main, arm)
    others = Counter(_word(cell, arm) for cell in cells)
    count = others.pop(word)
    if count == len(cells):
        return f"{arm}: {word} under all {count} combinations of choices"
    rest = join_with_and(f"{other} in {number_of_cells}" for other, number_of_cells in others.most_common())
    text = f"{arm}: {word} under {count} of {len(cells)} combinations of choices ({rest})"
    alone = [name for name in main.choices if _depends_on(name, arm, main, cells)]
    if not alone:
        return f"{text}; no single choice changes it, a combination does"
    return f"{text}; depends on {join_with_and(f'the {name}' for name in alone)}"


def _depends_on(name: str, arm: str, main: MultiverseCell, cells: tuple[MultiverseCell, ...]) -> bool:
    """Whether another choice of this kind alone changes the word of the verdict."""
    rest = {other: choice for other, choice in main.choices.items() if other != name}
    return any(
        _word(cell, arm) != _word(main, arm)
        for cell in cells
        if {other: choice for other, choice in cell.choices.items() if other != name} == rest
    )


def _word(cell: MultiverseCell, arm: str) -> str:
    return cell.differences[arm].word if arm in cell.differences else NO_VERDICT


def pair_table(comparison: StudyResults) -> Table | None:
    """All pairs of arms, titled by what the arms vary; None if they were not asked for, or no pair has a verdict yet."""
    if not comparison.pairs:
        return None
    heading, labels = study_text.labels(comparison)
    label = dict(zip((arm.name for arm in comparison.arms), labels, strict=True))
    places = decimals([(pair.difference.low, pair.difference.high) for pair in comparison.pairs])
    rows = [
        (
            label[pair.arm],
            label[pair.against],
            number(pair.difference.mean, places, signed=True),
            interval(pair.difference.low, pair.difference.high, places, signed=True),
            p_value(pair.difference.adjusted_p),
            pair.difference.word,
        )
        for pair in comparison.pairs
    ]
    arms = len(comparison.arms)
    count = arms * (arms - 1) // 2
    lead = (
        f"The differences in {comparison.metric} between any two arms, paired by seed. p is corrected for {count} "
        "comparisons, so a verdict needs more evidence here than against the first arm alone."
    )
    if count == 1:
        lead = (
            f"The difference in {comparison.metric} between the two arms, paired by seed. Two arms have one comparison, so "
            "nothing is corrected, and the verdict is that against the first arm."
        )
    return Table(heading, ("arm", "against", "difference", "interval", "p", "verdict"), rows, lead)
