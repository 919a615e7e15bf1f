"""Claim: fine-tuning a whole pretrained encoder beats a trained head on a frozen one, which is faster. Verbal arithmetic."""

import statistics
from collections.abc import Mapping, Sequence

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge

NAMES = {
    "pretrained, freeze=none": ("full fine-tuning", "92"),
    "pretrained, freeze=backbone": ("frozen encoder", "74"),
    "scratch, freeze=none": ("from scratch", ""),
    "scratch, freeze=backbone": ("frozen encoder without pretraining", ""),
}
FULL, FROZEN, SCRATCH, _ = NAMES


class FrozenHead(Claim):
    """Full fine-tuning, a frozen encoder, and none of the pretraining."""

    statement = "Full fine-tuning of a pretrained encoder is more accurate than a head on the frozen encoder, and slower."
    source = "course work on fine-tuning: classes of verbal arithmetic from a pretrained encoder"
    reported = "92 % full against 74 % frozen; 15 against 60 batches/s; always answering positive: 69.4 % of the test file"
    rule = (
        "Two parts: by test accuracy, paired by seed, full fine-tuning beats the frozen encoder; and a training step "
        "of the frozen one takes less time, timed alone and in turn. Upheld where both are so; refuted where one is "
        "reversed or where no difference reaches one standard deviation (the level shared between the two); else "
        "undecided. Every accuracy stands beside that of always answering the commonest class, which decides nothing."
    )

    def try_it(self, bench: Bench) -> Finding:
        run = arithmetic.pretrained(bench)
        recipes = (arithmetic.from_run(bench, "pretrained", run), arithmetic.from_scratch(bench, "scratch", run))
        freeze, quick = "training.freeze=none,backbone", arithmetic.QUICK_FINETUNE
        comparison = bench.compare("fine-tuning", *recipes, freeze, metric=arithmetic.METRIC, quick=quick)
        seconds = bench.step_seconds("speed", recipes[0], freeze, quick=quick)
        accuracy = {arm: bench.values(comparison, arm, arithmetic.METRIC) for arm in NAMES}
        worse = against_full(accuracy[FULL], "the frozen encoder", accuracy[FROZEN])
        scratch = against_full(accuracy[FULL], "the encoder from scratch", accuracy[SCRATCH])
        quicker = faster(seconds["none"], seconds["encoder"])
        in_rounds = quicker.sentence.replace("seed", "round")
        rates = {name: [1 / each for each in rounds] for name, rounds in seconds.items()}
        ratio = statistics.median(seconds["none"]) / statistics.median(seconds["encoder"])
        rows = [
            *arithmetic.rows(bench, comparison, NAMES),
            Evidence(
                "batches/s, full fine-tuning",
                "15",
                f"{statistics.median(rates['none']):.3g} (median of {len(rates['none'])})",
            ),
            Evidence(
                "batches/s, frozen encoder", "60", f"{statistics.median(rates['encoder']):.3g}: {ratio:.2g} times as many"
            ),
            Evidence("what pretraining was worth, by test accuracy", "", scratch.sentence),
        ]
        return Finding(
            verdict=decide(worse, quicker),
            because=f"By test accuracy, {worse.sentence}; by seconds a step, {in_rounds}.",
            scope=arithmetic.scope(bench, comparison, run),
            rows=tuple(rows),
            studies=(comparison.name,),
            notes=(
                "the reported 74 % of the frozen encoder is what always answering positive has on the training file "
                "(74.7 %)",
                "the encoder from scratch has the pretrained one's tokenizer, so that only the weights differ",
                "speeds are of one run at a time, evaluations left out, and depend on the machine; so does their ratio",
            ),
        )


def against_full(full: Mapping[int, float], name: str, other: Mapping[int, float]) -> Difference:
    """Another way against full fine-tuning, paired by seed, by accuracy."""
    return judge({"full fine-tuning": full, name: other}, VerdictRule(higher_is_better=True))[name]


def faster(full: Sequence[float], frozen: Sequence[float]) -> Difference:
    """A frozen encoder's steps against full ones, paired by round, by time."""
    return judge({"full": dict(enumerate(full)), "frozen": dict(enumerate(frozen))}, VerdictRule())["frozen"]


def decide(accuracy: Difference, seconds: Difference) -> str:
    """The verdict on both parts: less accurate, and faster."""
    return rules.all_of(rules.direction(accuracy, "worse", parts=2), rules.direction(seconds, parts=2))
