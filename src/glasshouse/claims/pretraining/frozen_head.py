"""Claim: full fine-tuning of a pretrained encoder is more accurate than a head on the frozen encoder, and slower."""

import statistics
from collections.abc import Mapping, Sequence

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge

# Arm -> (its name in the evidence, its reported accuracy).
NAMES = {
    "pretrained, freeze=none": ("full fine-tuning", "92"),
    "pretrained, freeze=backbone": ("frozen encoder", "74"),
    "scratch, freeze=none": ("from scratch", ""),
    "scratch, freeze=backbone": ("frozen encoder without pretraining", ""),
}
FULL, FROZEN, SCRATCH, _ = NAMES


class FrozenHead(Claim):
    """Trains with and without a frozen encoder, each with and without pretraining, and times the steps."""

    statement = "Full fine-tuning of a pretrained encoder is more accurate than a head on the frozen encoder, and slower."
    source = "course work on fine-tuning: classes of verbal arithmetic from a pretrained encoder"
    reported = "92 % full against 74 % frozen; 15 against 60 batches/s; always answering positive: 69.4 % of the test file"
    rule = (
        "Two parts. First, by test accuracy, paired by seed, full fine-tuning is better than the frozen encoder. "
        "Second, a training step with the frozen encoder takes less time; the two are timed separately, in rounds. The "
        "claim is upheld if both parts hold. It is refuted if one is reversed, or if its difference is shown to be "
        "smaller than one standard deviation (at a level divided between the two). Otherwise it is undecided. The "
        "accuracy of always answering the most frequent class is shown for comparison and does not decide."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        run = arithmetic.pretrain(bench)
        recipes = (arithmetic.from_run(bench, "pretrained", run), arithmetic.from_scratch(bench, "scratch", run))
        freeze, quick = "training.freeze=none,backbone", arithmetic.QUICK_FINETUNE
        study = bench.compare("fine-tuning", *recipes, freeze, metric=arithmetic.METRIC, quick=quick)
        seconds = bench.step_seconds("speed", recipes[0], freeze, quick=quick)
        accuracy = {arm: bench.values(study, arm, arithmetic.METRIC) for arm in NAMES}
        frozen_difference = against_full(accuracy[FULL], "the frozen encoder", accuracy[FROZEN])
        scratch_difference = against_full(accuracy[FULL], "the encoder from scratch", accuracy[SCRATCH])
        time_difference = compare_times(seconds["none"], seconds["backbone"])
        rates = {name: [1 / second for second in rounds] for name, rounds in seconds.items()}
        ratio = statistics.median(seconds["none"]) / statistics.median(seconds["backbone"])
        rows = [
            *arithmetic.accuracy_rows(bench, study, NAMES),
            Evidence(
                "batches/s, full fine-tuning",
                "15",
                f"{statistics.median(rates['none']):.3g} (median of {len(rates['none'])} rounds)",
            ),
            Evidence(
                "batches/s, frozen encoder", "60", f"{statistics.median(rates['backbone']):.3g}: {ratio:.2g} times as many"
            ),
            Evidence("without pretraining against with pretraining, by test accuracy", "", scratch_difference.sentence),
        ]
        return Finding(
            verdict=decide(frozen_difference, time_difference),
            because=f"By test accuracy, {frozen_difference.sentence}; by seconds per step, "
            f"with rounds of timing in place of seeds, {time_difference.sentence}.",
            scope=arithmetic.describe_scope(bench, study, run),
            rows=tuple(rows),
            studies=(study.name,),
            notes=(
                "the reported 74 % of the frozen encoder is about the accuracy of always answering positive on the training "
                "file (74.7 %)",
                "the encoder from scratch has the tokenizer of the pretrained one, so that only the weights differ",
                "speeds are of one run at a time, without evaluation; they and their ratio depend on the machine",
            ),
        )


def against_full(full: Mapping[int, float], name: str, other: Mapping[int, float]) -> Difference:
    """Another way of training compared with full fine-tuning, by accuracy, paired by seed."""
    return judge({"full fine-tuning": full, name: other}, VerdictRule(higher_is_better=True))[name]


def compare_times(full: Sequence[float], frozen: Sequence[float]) -> Difference:
    """Steps with a frozen encoder compared with steps of full fine-tuning, by seconds, paired by round."""
    return judge({"full": dict(enumerate(full)), "frozen": dict(enumerate(frozen))}, VerdictRule())["frozen"]


def decide(accuracy: Difference, seconds: Difference) -> str:
    """The verdict on both parts: the frozen encoder is less accurate, and it is faster."""
    return rules.all_of(rules.direction(accuracy, "worse", parts=2), rules.direction(seconds, parts=2))
