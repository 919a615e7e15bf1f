"""The table of all pairs of a study's arms, as text. Knows no HTML."""

from dataclasses import dataclass

from glasshouse.formatting import decimals, interval, number, p_value
from glasshouse.pages import study_text
from glasshouse.results.study import StudyResults


@dataclass(frozen=True)
class PairRow:
    """Two arms and the verdict on the first of them."""

    arm: str
    against: str
    difference: str
    interval: str
    p: str
    verdict: str


@dataclass(frozen=True)
class PairTable:
    """A row for each pair, a sentence on how to read them, and what the arms vary."""

    rows: tuple[PairRow, ...]
    lead: str
    heading: str


def pair_table(comparison: StudyResults) -> PairTable | None:
    """All pairs of arms; None if they were not asked for, or no pair has a verdict yet."""
    if not comparison.pairs:
        return None
    heading, labels = study_text.labels(comparison)
    label = dict(zip((arm.name for arm in comparison.arms), labels, strict=True))
    places = decimals([(pair.difference.low, pair.difference.high) for pair in comparison.pairs])
    rows = tuple(
        PairRow(
            label[pair.arm],
            label[pair.against],
            number(pair.difference.mean, places, signed=True),
            interval(pair.difference.low, pair.difference.high, places, signed=True),
            p_value(pair.difference.adjusted_p),
            pair.difference.word,
        )
        for pair in comparison.pairs
    )
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
    return PairTable(rows, lead, heading)
