"""Claim: sinusoidal positions generalise better to longer input than one-hot ones. The others are ranked for comparison."""

import math
from collections.abc import Sequence
from dataclasses import replace

from glasshouse.claims import rules
from glasshouse.claims.claim import UNDECIDED, Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation
from glasshouse.claims.positions.length_extrapolation import LengthResults
from glasshouse.metrics.verdicts import VerdictRule, judge
from glasshouse.pages.study_content import StudyResults

DECIDING = ("sinusoidal", "one-hot")
RANKED_ONLY = ("learned", "relative", "relative-buckets", "alibi", "rotary", "none")
# Maximum number of seeds of the positional encodings that are ranked and do not decide.
MAX_RANKED_SEEDS = 8
LENGTHS = TRAINED, TWICE, LONGEST = 32, 64, 128
# In nats per token; smaller differences between two rises (5 % of perplexity) do not matter.
MARGIN = math.log1p(0.05)


class PositionTable(Claim):
    """Trains the language model with every positional encoding; evaluates at one, two and four times its length."""

    statement = "Sinusoidal positions generalise better to input longer than that of training than one-hot positions do."
    source = "course work on positions: a comparison of position encodings"
    reported = "asserted, no figures"
    rule = (
        "The language model is trained at 32 tokens and evaluated at 64, the longest input whose positions fit as "
        "one-hot vectors into the model width of 64. The claim is upheld if the loss with sinusoidal positions rises "
        "less from 32 to 64 tokens than the loss with one-hot positions, by a paired test over seeds. It is refuted if "
        "it rises more, or if the two rises are shown to differ by less than 5 % of perplexity. Otherwise it is "
        "undecided. The other positional encodings are ranked for comparison and do not decide."
    )
    needs = ("speeches-text",)

    def run_experiment(self, bench: Bench) -> Finding:
        deciding_study = _train(bench, "positions", DECIDING)
        ranked_study = _train(replace(bench, seeds=min(bench.seeds, MAX_RANKED_SEEDS)), "beside", RANKED_ONLY)
        results = {
            arm: by_length
            for study in (deciding_study, ranked_study)
            for arm, by_length in length_extrapolation.score_lengths(bench, study, LENGTHS).items()
        }
        rises = {arm: length_extrapolation.loss_rises(results[arm], TRAINED, TWICE) for arm in reversed(DECIDING)}
        difference = judge(rises, VerdictRule(margin=MARGIN))["sinusoidal"] if all(map(len, rises.values())) else None
        verdict = rules.direction(difference) if difference else UNDECIDED
        order = sorted(results, key=lambda arm: results[arm][TRAINED].mean_perplexity)
        return Finding(
            verdict=verdict,
            because=_because(results, difference.sentence if difference else f"one of the two cannot read {TWICE} tokens"),
            scope=f"the course's speeches, words as tokens; {rules.study_scope(deciding_study)}; the other positions with "
            f"{len(ranked_study.arms[0].seeds)} seeds; perplexity over all three test texts",
            rows=tuple(
                Evidence(
                    f"test perplexity at {TRAINED} / {TWICE} / {LONGEST} tokens, {arm}", "", _perplexities(results, arm)
                )
                for arm in order
            ),
            studies=(deciding_study.name, ranked_study.name),
            pictures=(length_extrapolation.draw(results, bench.folder / "positions.svg", TRAINED),),
            notes=tuple(
                f"{arm} at {length} tokens: {result.how}"
                for arm in order
                for length, result in results[arm].items()
                if result.how not in ("", "as trained")
            ),
        )


def _train(bench: Bench, name: str, positions: Sequence[str]) -> StudyResults:
    """Train the language model with each of these positional encodings."""
    words = ("speech-lm", f"data.context={TRAINED}", f"model.position={','.join(positions)}")
    return bench.compare(name, *words, metric="test.loss", quick=length_extrapolation.QUICK)


def _perplexities(results: LengthResults, arm: str) -> str:
    return " / ".join(results[arm][length].plus_minus for length in LENGTHS)


def _because(results: LengthResults, comparison: str) -> str:
    parts = []
    for arm in DECIDING:
        by_length = [results[arm][length] for length in LENGTHS]
        texts = [f"{result.mean_perplexity:.1f}" if result.losses else "none (cannot read it)" for result in by_length]
        parts.append(f"{arm} positions: {texts[0]} at {TRAINED} tokens, {texts[1]} at {TWICE}, {texts[2]} at {LONGEST}")
    return f"Test perplexity with {'; with '.join(parts)}. Rise of the loss from {TRAINED} to {TWICE} tokens: {comparison}."
