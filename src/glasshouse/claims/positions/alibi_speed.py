"""Does training take less time with ALiBi than with position embeddings? Steps timed alone, arms in turn."""

from collections.abc import Sequence

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.records import machine
from glasshouse.training import devices

# A smaller saving than this share of a step is none: nobody would notice it.
LEAST = 0.02
EMBEDDED, ALIBI = "learned", "alibi"
REPORTED = {
    "speech-classifier": "14 % (25.31 s to 21.77 s, five runs)",
    "speech-lm": "11.5 % (35.66 s to 31.55 s, five runs)",
}


class AlibiSpeed(Claim):
    """Rounds of steps of the classifier and of the language model, with either."""

    statement = "ALiBi trains faster than position embeddings."
    source = "course work on positions: whole runs of the classifier and the language model, five each"
    reported = "classifier 25.31 s to 21.77 s (14 %), language model 35.66 s to 31.55 s (11.5 %)"
    rule = (
        "Training steps with learned positions and with ALiBi are timed alone on an otherwise idle machine, in rounds in "
        "which each has its turn. Upheld where in both models the saving of ALiBi is above 2 % of a step (the whole 95 % "
        "interval of the mean over rounds); refuted where in either it is wholly below that; else undecided. It holds for "
        "the machine that it was measured on."
    )
    needs = ("speeches-text", "speeches")

    def try_it(self, bench: Bench) -> Finding:
        verdicts, rows, said, rounds = [], [], [], 0
        for recipe, reported in REPORTED.items():
            seconds = bench.step_seconds(f"{recipe}-seconds", recipe, f"model.position={EMBEDDED},{ALIBI}")
            savings = _savings(seconds[EMBEDDED], seconds[ALIBI])
            rounds = len(savings)
            verdicts.append(rules.beats(savings, LEAST, higher_is_better=True, parts=len(REPORTED)))
            milliseconds = {arm: rules.figure(times, scale=1000) for arm, times in seconds.items()}
            rows.append(Evidence(f"time saved by ALiBi, {recipe}", reported, _percent(savings)))
            rows += [Evidence(f"milliseconds a step, {recipe}, {arm}", "", shown) for arm, shown in milliseconds.items()]
            said.append(f"{recipe}: ALiBi saves {_percent(savings)} of a step")
        facts = machine.describe(str(devices.pick(bench.device)))
        place = facts.get("accelerator") or f"{facts['processor']}, {facts['cores']} cores"
        return Finding(
            verdict=rules.all_of(*verdicts),
            because=f"{'; '.join(said)}.",
            scope=f"the course's speeches and sizes; {rounds} rounds of up to 20 steps on {place}",
            rows=tuple(rows),
            notes=(
                "steps alone, each model by itself; evaluations, checkpoints and many seeds side by side are not in it",
                "± is half the 95 % interval of the mean over rounds",
            ),
        )


def _savings(embedded: Sequence[float], alibi: Sequence[float]) -> list[float]:
    """The share of a step's time that is saved, round by round."""
    return [1 - less / more for more, less in zip(embedded, alibi, strict=True)]


def _percent(savings: Sequence[float]) -> str:
    return rules.interval(savings, ".1f", 100, unit=" %")
