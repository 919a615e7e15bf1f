"""Claim: an ALiBi language model trained at 32 tokens keeps its perplexity at 64 and 128 tokens."""

import math

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.positions import length_extrapolation

TRAINED, LONGER = 32, (64, 128)
ALIBI = "alibi"


class AlibiExtrapolates(Claim):
    """Also measures sinusoidal, rotary and no positions, to show perplexities that are not flat."""

    statement = "Trained at 32 tokens, an ALiBi language model has a flat perplexity at 64 and 128 tokens."
    source = "course work on positions"
    reported = "a figure without numbers"
    rule = (
        "The language model is trained with ALiBi at 32 tokens and evaluated at 32, 64 and 128 tokens. Every scored "
        "token has at least half of that length before it. Flat means at most 5 % above the perplexity at 32 tokens. "
        "The claim is upheld if at both lengths the whole 95 % confidence interval of the mean rise over seeds is below "
        "5 %. It is refuted if at either length the whole interval is above 5 %. Otherwise it is undecided. The other "
        "positional encodings are measured for comparison and do not decide."
    )
    needs = ("speeches-text",)

    def run_experiment(self, bench: Bench) -> Finding:
        words = ("speech-lm", f"data.context={TRAINED}", f"model.position={ALIBI},sinusoidal,rotary,none")
        study = bench.compare("positions", *words, metric="test.loss", quick=length_extrapolation.QUICK)
        results = length_extrapolation.score_lengths(bench, study, (TRAINED, *LONGER))
        rises = {length: length_extrapolation.loss_rises(results[ALIBI], TRAINED, length) for length in LONGER}
        changes = [
            f"{rules.format_interval([_percent(rise) for rise in rises[length].values()], unit=' %')} at {length} tokens"
            for length in LONGER
        ]
        return Finding(
            verdict=rules.all_of(
                *(length_extrapolation.judge_flat(results[ALIBI], TRAINED, length, parts=len(LONGER)) for length in LONGER)
            ),
            because=f"With ALiBi the perplexity is {results[ALIBI][TRAINED].with_seeds} at {TRAINED} tokens and changes by "
            f"{' and by '.join(changes)}; a rise of up to {100 * length_extrapolation.FLAT:g} % counts as flat.",
            scope=f"the course's speeches, words as tokens; {rules.study_scope(study)}; all three test texts, whose "
            "sentences are not consecutive",
            rows=tuple(
                Evidence(
                    f"test perplexity at {length} tokens, {arm}",
                    "flat" if arm == ALIBI and length != TRAINED else "",
                    results[arm][length].with_seeds,
                )
                for arm in results
                for length in (TRAINED, *LONGER)
            ),
            studies=(study.name,),
            pictures=(length_extrapolation.draw(results, bench.folder / "lengths.svg", TRAINED),),
        )


def _percent(nats: float) -> float:
    """A rise of the loss as a rise of the perplexity in per cent."""
    return 100 * math.expm1(nats)
