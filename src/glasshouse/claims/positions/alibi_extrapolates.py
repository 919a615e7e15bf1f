"""Trained at 32 tokens, does an ALiBi model keep its perplexity at 64 and 128?"""

import math

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation

TRAINED, LONGER = 32, (64, 128)
ALIBI = "alibi"


class AlibiExtrapolates(Claim):
    """Beside ALiBi stand sinusoidal, rotary and no positions, to show what is not flat."""

    statement = "Trained at 32 tokens, an ALiBi language model has a flat perplexity at 64 and 128 tokens."
    source = "course work on positions"
    reported = "a figure without numbers"
    rule = (
        "The language model is trained with ALiBi at 32 tokens and asked at 32, 64 and 128, each token with at least half "
        "of these before it. Flat means no more than 5 % above the perplexity at 32. Upheld where at both lengths the "
        "whole 95 % interval of the mean rise over seeds is below that; refuted where at either it is wholly above; else "
        "undecided. The other positions are measured beside it and do not decide."
    )
    needs = ("speeches-text",)

    def try_it(self, bench: Bench) -> Finding:
        words = ("speech-lm", f"data.context={TRAINED}", f"model.position={ALIBI},sinusoidal,rotary,none")
        study = bench.compare("positions", *words, metric="test.loss", quick=length_extrapolation.QUICK)
        readings = length_extrapolation.ask(bench, study, (TRAINED, *LONGER))
        rises = {length: length_extrapolation.rises(readings[ALIBI], TRAINED, length) for length in LONGER}
        said = [
            f"{rules.interval([_percent(rise) for rise in rises[length].values()], unit=' %')} at {length} tokens"
            for length in LONGER
        ]
        return Finding(
            verdict=rules.all_of(
                *(length_extrapolation.flat(readings[ALIBI], TRAINED, length, parts=len(LONGER)) for length in LONGER)
            ),
            because=f"Against the perplexity at {TRAINED} tokens, {readings[ALIBI][TRAINED].shown}, that of ALiBi changes "
            f"by {' and by '.join(said)}; flat is up to {100 * length_extrapolation.FLAT:g} % more.",
            scope=f"the course's speeches, words as tokens; {rules.scope(study)}; all three test texts, whose sentences do "
            "not follow from each other",
            rows=tuple(
                Evidence(
                    f"test perplexity at {length} tokens, {arm}",
                    "flat" if arm == ALIBI and length != TRAINED else "",
                    readings[arm][length].shown,
                )
                for arm in readings
                for length in (TRAINED, *LONGER)
            ),
            studies=(study.name,),
            pictures=(length_extrapolation.draw(readings, bench.folder / "lengths.svg", TRAINED),),
        )


def _percent(nats: float) -> float:
    """A rise of the loss as one of the perplexity."""
    return 100 * math.expm1(nats)
