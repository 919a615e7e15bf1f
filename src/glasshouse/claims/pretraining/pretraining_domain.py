"""Claim: pretraining on mathematics helps verbal arithmetic more than pretraining on tweets."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge

SOURCES = {"arithmetic": "arithmetic-text", "tweets": "tweets"}
REPORTED = {"arithmetic": "92", "tweets": "72"}
# Maximum number of seeds of fine-tuning from each pretraining. Kinds of pretraining are compared, so the seeds of the bench
# are those of pretraining.
MAX_TUNING_SEEDS = 4
BySeed = Mapping[int, float]


class PretrainingDomain(Claim):
    """Pretrains on two texts, fine-tunes in the same way from each, and from untrained encoders."""

    statement = (
        "An encoder pretrained on mathematics is fine-tuned to verbal arithmetic better than one pretrained on tweets."
    )
    source = "course work on fine-tuning: a mathematical encoder against one of tweets"
    reported = "92 % against 72 %; always answering positive: 69.4 % of the test file"
    needs = ("tweets",)
    rule = (
        "The same encoder is pretrained several times on each text, with equally many steps, and fine-tuned from each "
        "pretraining. The texts are compared by test accuracy, as the mean over the seeds of fine-tuning, paired by the "
        "seed of pretraining. The claim is upheld if arithmetic is better than tweets. It is refuted if it is worse, or "
        "if the difference is shown to be smaller than one standard deviation between pretrainings. Otherwise it is "
        "undecided. Each text has its own tokenizer; training without pretraining shows the effect of the tokenizer "
        "alone."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        pretraining = bench.compare(
            "pretraining",
            arithmetic.PRETRAIN,
            f"data.source={','.join(SOURCES.values())}",
            arithmetic.STEPS,
            metric="validation.accuracy",
            quick=arithmetic.QUICK_PRETRAIN,
        )
        runs = {text: bench.finished_runs(pretraining, source) for text, source in SOURCES.items()}
        starts = {(text, run.spec.training.seed): run for text in SOURCES for run in runs[text]}
        recipes = [arithmetic.from_run(bench, f"{text}-{seed}", run) for (text, seed), run in starts.items()]
        recipes += [
            arithmetic.from_scratch(bench, f"{text}-none", arithmetic.first_run(runs[text], pretraining.name))
            for text in SOURCES
        ]
        fine_tuning = replace(bench, seeds=min(bench.seeds, MAX_TUNING_SEEDS)).compare(
            "fine-tuning", *recipes, metric=arithmetic.METRIC, quick=arithmetic.QUICK_FINETUNE
        )

        tuned = {arm.name: arm.values for arm in fine_tuning.arms}
        means = {
            text: {seed: mean(tuned[f"{text}-{seed}"]) for start_text, seed in starts if start_text == text}
            for text in SOURCES
        }
        scratch = {text: tuned[f"{text}-none"] for text in SOURCES}
        difference = tweets_against_arithmetic(means["arithmetic"], means["tweets"])
        rows = []
        for text, figure in REPORTED.items():
            accuracy = rules.format_with_seeds(means[text], ".1f", 100).replace("seed", "pretraining")
            scratch_accuracy = rules.format_with_seeds(scratch[text], ".1f", 100)
            rows += [
                Evidence(f"test accuracy, %, pretrained on {text}", figure, accuracy),
                Evidence(f"test accuracy, %, without pretraining, tokenizer of {text}", "", scratch_accuracy),
                Evidence(f"gain from pretraining on {text}, percentage points", "", format_gain(means[text], scratch[text])),
            ]
        first_arms = {f"{text}-{runs[text][0].spec.training.seed}": (f"one pretraining on {text}", "") for text in SOURCES}
        pretrainings = f"{len(means['tweets'])} pretrainings on each text"
        return Finding(
            verdict=rules.direction(difference, "worse"),
            because=f"By test accuracy, {difference.sentence}.".replace("seed", "pretraining"),
            scope=arithmetic.describe_scope(bench, fine_tuning, runs["arithmetic"][0], pretrainings),
            rows=(*rows, *arithmetic.accuracy_rows(bench, fine_tuning, first_arms)),
            studies=(pretraining.name, fine_tuning.name),
            notes=(
                "equally many steps are more epochs over the sentences about numbers, which are fewer, than over the tweets",
                "the reported encoders were large, differed in architecture and were pretrained by others; these are small "
                "and have the same architecture",
                "the sentences about numbers contain no expression that is held out of fine-tuning, and no result of one",
            ),
        )


def tweets_against_arithmetic(arithmetic_means: BySeed, tweet_means: BySeed) -> Difference:
    """Pretraining on tweets compared with pretraining on arithmetic, paired by the seed of pretraining."""
    first, second = "pretraining on arithmetic", "pretraining on tweets"
    return judge({first: arithmetic_means, second: tweet_means}, VerdictRule(higher_is_better=True))[second]


def mean(values: BySeed) -> float:
    """The mean over the seeds that did not diverge; NaN if all diverged."""
    finite = [value for value in values.values() if math.isfinite(value)]
    return statistics.fmean(finite) if finite else float("nan")


def format_gain(pretrained: BySeed, scratch: BySeed) -> str:
    """The gain in percentage points of accuracy over training from scratch, with its interval over pretrainings."""
    baseline = mean(scratch)
    gains = {seed: value - baseline for seed, value in pretrained.items()}
    return rules.format_interval(gains, "+.1f", 100).replace("seed", "pretraining")
