"""Claim: pretraining on mathematics serves verbal arithmetic better than pretraining on tweets."""

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
# Seeds of fine-tuning from each pretraining. What is judged is a kind of pretraining, so the bench's seeds are those of
# pretraining.
TUNINGS = 4
Values = Mapping[int, float]


class PretrainingDomain(Claim):
    """Two texts to pretrain on, the same fine-tuning, and none of the pretraining."""

    statement = (
        "An encoder pretrained on mathematics is fine-tuned to verbal arithmetic better than one pretrained on tweets."
    )
    source = "course work on fine-tuning: a mathematical encoder against one of tweets"
    reported = "92 % against 72 %; always answering positive: 69.4 % of the test file"
    needs = ("tweets",)
    rule = (
        "The same encoder is pretrained on each text several times, with as many steps, and fine-tuned from each. By test "
        "accuracy, the mean over the seeds of fine-tuning, paired by the seed of pretraining: upheld where arithmetic beats "
        "tweets, refuted where it is worse or where no difference reaches one standard deviation between pretrainings, else "
        "undecided. Each text has its own tokenizer; what that alone is worth is shown by encoders without pretraining."
    )

    def try_it(self, bench: Bench) -> Finding:
        pretraining = bench.compare(
            "pretraining",
            arithmetic.PRETRAIN,
            f"data.source={','.join(SOURCES.values())}",
            arithmetic.STEPS,
            metric="validation.accuracy",
            quick=arithmetic.QUICK_PRETRAIN,
        )
        runs = {text: bench.runs(pretraining, name) for text, name in SOURCES.items()}
        starts = {(text, run.spec.training.seed): run for text in SOURCES for run in runs[text]}
        recipes = [arithmetic.from_run(bench, f"{text}-{seed}", run) for (text, seed), run in starts.items()]
        recipes += [
            arithmetic.from_scratch(bench, f"{text}-none", arithmetic.first(runs[text], pretraining.name))
            for text in SOURCES
        ]
        tuning = replace(bench, seeds=min(bench.seeds, TUNINGS)).compare(
            "fine-tuning", *recipes, metric=arithmetic.METRIC, quick=arithmetic.QUICK_FINETUNE
        )

        tuned = {arm.name: arm.values for arm in tuning.arms}
        means = {text: {seed: mean(tuned[f"{text}-{seed}"]) for kind, seed in starts if kind == text} for text in SOURCES}
        nothing = {text: tuned[f"{text}-none"] for text in SOURCES}
        difference = against(means["arithmetic"], means["tweets"])
        rows = []
        for text, figure in REPORTED.items():
            told = rules.shown(means[text], ".1f", 100).replace("seed", "pretraining")
            rows += [
                Evidence(f"test accuracy, %, pretrained on {text}", figure, told),
                Evidence(
                    f"test accuracy, %, with the tokenizer of {text} alone",
                    "",
                    rules.shown(nothing[text], ".1f", 100),
                ),
                Evidence(f"what pretraining on {text} is worth, points", "", worth(means[text], nothing[text])),
            ]
        first = {f"{text}-{runs[text][0].spec.training.seed}": (f"one pretraining on {text}", "") for text in SOURCES}
        return Finding(
            verdict=rules.direction(difference, "worse"),
            because=f"By test accuracy, {difference.sentence}.".replace("seed", "pretraining"),
            scope=arithmetic.scope(
                bench, tuning, runs["arithmetic"][0], f"{len(means['tweets'])} pretrainings on each text"
            ),
            rows=(*rows, *arithmetic.rows(bench, tuning, first)),
            studies=(pretraining.name, tuning.name),
            notes=(
                "as many steps are more passes over the sentences about numbers, which are fewer, than over the tweets",
                "the reported encoders were large ones of different make, pretrained by others; these are small and alike",
                "the sentences about numbers hold no expression that is held out of fine-tuning, and no result of one",
            ),
        )


def against(arithmetic_means: Values, tweet_means: Values) -> Difference:
    """Tweets against arithmetic, paired by the seed of pretraining."""
    first, second = "pretraining on arithmetic", "pretraining on tweets"
    return judge({first: arithmetic_means, second: tweet_means}, VerdictRule(higher_is_better=True))[second]


def mean(values: Values) -> float:
    """The mean over the seeds that came through; NaN where none did."""
    finite = [value for value in values.values() if math.isfinite(value)]
    return statistics.fmean(finite) if finite else float("nan")


def worth(pretrained: Values, nothing: Values) -> str:
    """By how many points of accuracy pretrainings are better than none, with the interval over pretrainings."""
    base = mean(nothing)
    gains = {seed: value - base for seed, value in pretrained.items()}
    return rules.interval(gains, "+.1f", 100).replace("seed", "pretraining")
