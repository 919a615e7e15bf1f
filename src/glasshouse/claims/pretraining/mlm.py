"""Claim: masked-language-model pretraining of an encoder learns, and what it learns helps a task about numbers."""

import statistics
from collections.abc import Mapping, Sequence

import numpy as np

from glasshouse.claims import rules
from glasshouse.claims.claim import Bench, Claim, Evidence, Finding
from glasshouse.claims.pretraining import arithmetic
from glasshouse.data import prepared_data
from glasshouse.data.shards import Shard
from glasshouse.metrics.verdicts import Difference, VerdictRule, judge
from glasshouse.runs.run import Run

# How many times as often as the commonest token is right, hidden tokens must be found for that to be far above it.
FAR = 2.0
# Pretrainings that fine-tunings start from, each with a seed of its own.
STARTS = 3
# The encoder as it is, and one that sees which tokens there are and not where.
ORDERED, BAG = "rotary", "none"
Values = Mapping[int, float]


class MLM(Claim):
    """Filling gaps, and fine-tuning from that."""

    statement = "Masked-language-model pretraining teaches an encoder what stands in a gap, and that helps a later task."
    source = "course work on pretraining: a masked language model"
    reported = "no figures"
    seeds = 16
    rule = (
        f"Three parts: the accuracy on hidden validation tokens lies, with its whole interval, above {FAR:g} times that "
        "of always answering the commonest token; and above that of answering what most often follows the token before "
        f"it; and by test accuracy, paired by seed, fine-tunings that start from it (the mean over {STARTS} "
        "pretrainings) are better than those from scratch with the same tokenizer. Upheld where all are so; refuted "
        "where one is reversed or, of the last, where no difference reaches one standard deviation between seeds; else "
        "undecided."
    )

    def try_it(self, bench: Bench) -> Finding:
        pretraining = bench.compare(
            "pretraining",
            arithmetic.PRETRAIN,
            f"model.position={ORDERED},{BAG}",
            arithmetic.STEPS,
            metric="validation.accuracy",
            quick=arithmetic.QUICK_PRETRAIN,
        )
        runs = bench.runs(pretraining, ORDERED)[: 1 if bench.quick else STARTS]
        starts = {f"pretrained-{run.spec.training.seed}": run for run in runs}
        recipes = [arithmetic.from_scratch(bench, "scratch", arithmetic.first(runs, pretraining.name))]
        recipes += [arithmetic.from_run(bench, name, run) for name, run in starts.items()]
        tuning = bench.compare("fine-tuning", *recipes, metric=arithmetic.METRIC, quick=arithmetic.QUICK_FINETUNE)

        found, bag = (bench.values(pretraining, arm, "validation.accuracy") for arm in (ORDERED, BAG))
        learned, asked = _tokens(runs[0])
        often, after = commonest(learned, asked), commonest_after(learned, asked)
        tuned = {arm.name: arm.values for arm in tuning.arms}
        gain = worth(tuned["scratch"], averaged([tuned[name] for name in starts]))
        names = {"scratch": ("from scratch", ""), **{name: (name.replace("-", ", seed "), "") for name in starts}}
        return Finding(
            verdict=decide(found, often, after, gain),
            because=(
                f"Of the hidden tokens {rules.interval(found, '.1f', 100)} % are found; always answering the commonest "
                f"finds {100 * often:.1f} %, and what most often follows the one before {100 * after:.1f} %. By test "
                f"accuracy after fine-tuning, {gain.sentence}."
            ),
            scope=f"{arithmetic.scope(bench, tuning, runs[0], f'{len(runs)} pretrainings')}, {bench.seeds} of pretraining",
            rows=(
                Evidence("hidden tokens found, %, always the commonest token", "", f"{100 * often:.1f}"),
                Evidence("hidden tokens found, %, what most often follows the one before", "", f"{100 * after:.1f}"),
                Evidence("hidden tokens found, %, encoder", "", rules.shown(found, ".1f", 100)),
                Evidence("hidden tokens found, %, encoder without positions", "", rules.shown(bag, ".1f", 100)),
                *arithmetic.rows(bench, tuning, names),
                Evidence("what pretraining is worth, by test accuracy", "", gain.sentence),
            ),
            studies=(pretraining.name, tuning.name),
            notes=(
                "15 % of the tokens are asked about, and a tenth of those are not hidden but stay as they are",
                "no expression that is held out of fine-tuning, and no result of one, stands in the pretraining text",
            ),
        )


def decide(found: Values, often: float, after: float, gain: Difference) -> str:
    """The verdict on the three parts."""
    return rules.all_of(
        rules.beats(found, FAR * often, higher_is_better=True, parts=3),
        rules.beats(found, after, higher_is_better=True, parts=3),
        rules.direction(gain, parts=3),
    )


def worth(scratch: Values, pretrained: Values) -> Difference:
    """Fine-tuning from a pretrained encoder against fine-tuning from nothing, paired by seed."""
    return judge({"from scratch": scratch, "from pretraining": pretrained}, VerdictRule(higher_is_better=True))[
        "from pretraining"
    ]


def averaged(arms: Sequence[Values]) -> dict[int, float]:
    """Seed -> the mean over some arms, of the seeds that all of them have."""
    common = set.intersection(*(set(arm) for arm in arms)) if arms else set()
    return {seed: statistics.fmean(arm[seed] for arm in arms) for seed in sorted(common)}


def commonest(learned: np.ndarray, asked: np.ndarray) -> float:
    """The share of some tokens that is the commonest of those learned from."""
    return float(np.mean(asked == np.bincount(learned).argmax())) if len(learned) and len(asked) else float("nan")


def commonest_after(learned: np.ndarray, asked: np.ndarray) -> float:
    """The share of some tokens that most often followed the token before them in those learned from."""
    if len(learned) < 2 or len(asked) < 2:
        return float("nan")
    size = int(max(learned.max(), asked.max())) + 1
    counts = np.zeros((size, size), np.int64)
    np.add.at(counts, (learned[:-1], learned[1:]), 1)
    return float(np.mean(counts.argmax(1)[asked[:-1]] == asked[1:]))


def _tokens(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The tokens to learn from and those of validation, without the marks between texts, which are never hidden."""
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, specials=run.task.specials).splits
    return _ordinary(splits["train"]), _ordinary(splits["validation"])


def _ordinary(shard: Shard) -> np.ndarray:
    tokens = np.asarray(shard.tokens, np.int64)
    return tokens[~np.isin(tokens, list(shard.marks))]
