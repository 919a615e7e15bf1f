"""Claim: training with ALiBi takes less time than with position embeddings. Each model's steps are timed alone."""

from collections.abc import Sequence

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.records import machine
from glasshouse.training import devices

# A smaller share of a step does not count as a saving: nobody would notice it.
MIN_SAVING = 0.02
LEARNED, ALIBI = "learned", "alibi"
REPORTED = {
    "speech-classifier": "14 % (25.31 s to 21.77 s, five runs)",
    "speech-lm": "11.5 % (35.66 s to 31.55 s, five runs)",
}


class AlibiSpeed(Claim):
    """Times steps of the classifier and the language model with learned positions and with ALiBi."""

    statement = "ALiBi trains faster than position embeddings."
    source = "course work on positions: whole runs of the classifier and the language model, five each"
    reported = "classifier 25.31 s to 21.77 s (14 %), language model 35.66 s to 31.55 s (11.5 %)"
    rule = (
        "Training steps with learned positions and with ALiBi are timed separately on an otherwise idle machine, in rounds "
        "that time each of them once. The claim is upheld if in both models the whole 95 % confidence interval of the mean "
        "saving over rounds is above 2 % of a step. It is refuted if in either model the whole interval is below 2 %. "
        "Otherwise it is undecided. The verdict holds for the machine on which it was measured."
    )
    needs = ("speeches-text", "speeches")

    def run_experiment(self, bench: Bench) -> Finding:
        verdicts, rows, sentences, rounds = [], [], [], 0
        for recipe, reported in REPORTED.items():
            seconds = bench.step_seconds(f"{recipe}-seconds", recipe, f"model.position={LEARNED},{ALIBI}")
            savings = _savings(seconds[LEARNED], seconds[ALIBI])
            rounds = len(savings)
            verdicts.append(rules.beats(savings, MIN_SAVING, higher_is_better=True, parts=len(REPORTED)))
            milliseconds = {arm: rules.format_plus_minus(times, scale=1000) for arm, times in seconds.items()}
            rows.append(Evidence(f"time saved by ALiBi, {recipe}", reported, _percent(savings)))
            rows += [Evidence(f"milliseconds per step, {recipe}, {arm}", "", text) for arm, text in milliseconds.items()]
            sentences.append(f"{recipe}: ALiBi saves {_percent(savings)} of a step")
        facts = machine.describe(str(devices.pick(bench.device)))
        hardware = facts.get("accelerator") or f"{facts['processor']}, {facts['cores']} cores"
        return Finding(
            verdict=rules.all_of(*verdicts),
            because=f"{'; '.join(sentences)}.",
            scope=f"the course's speeches and sizes; {rounds} rounds of up to 20 steps on {hardware}",
            rows=tuple(rows),
            notes=(
                "the times are of training steps of one model at a time; evaluation, checkpoints and training of several "
                "seeds together are not included",
                "± is half the 95 % interval of the mean over rounds",
            ),
        )


def _savings(learned: Sequence[float], alibi: Sequence[float]) -> list[float]:
    """The share of a step's time that ALiBi saves, in each round."""
    return [1 - alibi_seconds / learned_seconds for learned_seconds, alibi_seconds in zip(learned, alibi, strict=True)]


def _percent(savings: Sequence[float]) -> str:
    return rules.format_interval(savings, ".1f", 100, unit=" %")
