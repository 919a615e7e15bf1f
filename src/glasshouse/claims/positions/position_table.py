"""Every position part on one recipe, and whether sinusoidal positions take longer input better than one-hot ones."""

import math
from collections.abc import Sequence
from dataclasses import replace

from glasshouse.claims import rules
from glasshouse.claims.claim import UNDECIDED, Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation
from glasshouse.claims.positions.length_extrapolation import Readings
from glasshouse.metrics.verdicts import VerdictRule, judge
from glasshouse.pages.study_content import StudyResults

PAIR = ("sinusoidal", "one-hot")
BESIDE = ("learned", "relative", "relative-buckets", "alibi", "rotary", "none")
# Seeds of those that are ranked and do not decide, at most.
ENOUGH = 8
LENGTHS = TRAINED, TWICE, LONGEST = 32, 64, 128
# Rises that differ by less than this many nats a token (5 % of perplexity) are alike.
MARGIN = math.log1p(0.05)


class PositionTable(Claim):
    """Trains the language model with each, then asks it at once, twice and four times the length it was trained at."""

    statement = "Sinusoidal positions generalise better to input longer than that of training than one-hot positions do."
    source = "course work on positions: a comparison of position encodings"
    reported = "asserted, no figures"
    rule = (
        "The language model is trained at 32 tokens and asked at 64, where one-hot vectors still have a place in the width "
        "of 64. Upheld where the loss of sinusoidal rises less from 32 to 64 tokens than that of one-hot, by a paired test "
        "over seeds; refuted where it rises more, or where the two rises are shown to differ by less than 5 % of "
        "perplexity; else undecided. The other positions are ranked beside them and do not decide."
    )
    needs = ("speeches-text",)

    def try_it(self, bench: Bench) -> Finding:
        study = _trained(bench, "positions", PAIR)
        beside = _trained(replace(bench, seeds=min(bench.seeds, ENOUGH)), "beside", BESIDE)
        readings = {
            arm: row for each in (study, beside) for arm, row in length_extrapolation.ask(bench, each, LENGTHS).items()
        }
        rises = {arm: length_extrapolation.rises(readings[arm], TRAINED, TWICE) for arm in reversed(PAIR)}
        difference = judge(rises, VerdictRule(margin=MARGIN))["sinusoidal"] if all(map(len, rises.values())) else None
        verdict = rules.direction(difference) if difference else UNDECIDED
        order = sorted(readings, key=lambda arm: readings[arm][TRAINED].perplexity)
        return Finding(
            verdict=verdict,
            because=_because(readings, difference.sentence if difference else "one of the two has no answer at 64 tokens"),
            scope=f"the course's speeches, words as tokens; {rules.scope(study)}; the other positions with "
            f"{len(beside.arms[0].seeds)} seeds; perplexity over all three test texts",
            rows=tuple(
                Evidence(f"test perplexity at {TRAINED} / {TWICE} / {LONGEST} tokens, {arm}", "", _row(readings, arm))
                for arm in order
            ),
            studies=(study.name, beside.name),
            pictures=(length_extrapolation.draw(readings, bench.folder / "positions.svg", TRAINED),),
            notes=tuple(
                f"{arm} at {length} tokens: {reading.how}"
                for arm in order
                for length, reading in readings[arm].items()
                if reading.how not in ("", "as trained")
            ),
        )


def _trained(bench: Bench, name: str, positions: Sequence[str]) -> StudyResults:
    """The language model with each of these positions."""
    words = ("speech-lm", f"data.context={TRAINED}", f"model.position={','.join(positions)}")
    return bench.compare(name, *words, metric="test.loss", quick=length_extrapolation.QUICK)


def _row(readings: Readings, arm: str) -> str:
    return " / ".join(readings[arm][length].figure for length in LENGTHS)


def _because(readings: Readings, sentence: str) -> str:
    parts = []
    for arm in PAIR:
        figures = [readings[arm][length] for length in LENGTHS]
        shown = [f"{each.perplexity:.1f}" if each.losses else "no answer at all" for each in figures]
        parts.append(f"{arm}: {shown[0]} at {TRAINED} tokens, {shown[1]} at {TWICE}, {shown[2]} at {LONGEST}")
    return f"Test perplexity of {'; of '.join(parts)}. Of the rise in loss from {TRAINED} to {TWICE}: {sentence}."
