"""Claim: an encoder learns by masked-language-model pretraining, and what it learns helps a later task about numbers."""

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

# The encoder's accuracy on masked tokens must be above this multiple of the unigram baseline's accuracy.
UNIGRAM_FACTOR = 2.0
# Number of pretrained encoders that are fine-tuned, each pretrained with its own seed.
PRETRAININGS = 3
# The encoder of the recipe, and one without positions, which does not know the order of the tokens.
WITH_ORDER, WITHOUT_ORDER = "rotary", "none"
BySeed = Mapping[int, float]


class MLM(Claim):
    """Pretrains encoders as masked language models, and fine-tunes from them."""

    statement = "Masked-language-model pretraining teaches an encoder to predict masked tokens, and that helps a later task."
    source = "course work on pretraining: a masked language model"
    reported = "no figures"
    seeds = 16
    rule = (
        "Three parts. First, the whole confidence interval of the accuracy on masked validation tokens is above "
        f"{UNIGRAM_FACTOR:g} times the accuracy of always answering the most frequent token. Second, it is above the "
        "accuracy of answering the token that most often follows the token before. Third, by test accuracy, paired by "
        f"seed, fine-tuning from pretrained encoders (the mean over {PRETRAININGS} pretrainings) is better than "
        "training from scratch with the same tokenizer. The claim is upheld if all parts hold. It is refuted if one is "
        "reversed, or if the difference in the third is shown to be smaller than one standard deviation between seeds. "
        "Otherwise it is undecided."
    )

    def run_experiment(self, bench: Bench) -> Finding:
        pretraining = bench.compare(
            "pretraining",
            arithmetic.PRETRAIN,
            f"model.position={WITH_ORDER},{WITHOUT_ORDER}",
            arithmetic.STEPS,
            metric="validation.accuracy",
            quick=arithmetic.QUICK_PRETRAIN,
        )
        runs = bench.finished_runs(pretraining, WITH_ORDER)[: 1 if bench.quick else PRETRAININGS]
        starts = {f"pretrained-{run.spec.training.seed}": run for run in runs}
        recipes = [arithmetic.from_scratch(bench, "scratch", arithmetic.first_run(runs, pretraining.name))]
        recipes += [arithmetic.from_run(bench, name, run) for name, run in starts.items()]
        fine_tuning = bench.compare("fine-tuning", *recipes, metric=arithmetic.METRIC, quick=arithmetic.QUICK_FINETUNE)

        accuracy, accuracy_without_order = (
            bench.values(pretraining, arm, "validation.accuracy") for arm in (WITH_ORDER, WITHOUT_ORDER)
        )
        training, validation = _tokens(runs[0])
        unigram, bigram = unigram_accuracy(training, validation), bigram_accuracy(training, validation)
        tuned = {arm.name: arm.values for arm in fine_tuning.arms}
        gain = pretraining_gain(tuned["scratch"], mean_over_arms([tuned[name] for name in starts]))
        names = {"scratch": ("from scratch", ""), **{name: (name.replace("-", ", seed "), "") for name in starts}}
        scope = arithmetic.describe_scope(bench, fine_tuning, runs[0], f"{len(runs)} pretrainings")
        return Finding(
            verdict=decide(accuracy, unigram, bigram, gain),
            because=(
                f"The encoder predicts {rules.format_interval(accuracy, '.1f', 100)} % of the masked tokens. The most "
                f"frequent token is right in {100 * unigram:.1f} %, and the token that most often follows the token "
                f"before in {100 * bigram:.1f} %. By test accuracy after fine-tuning, {gain.sentence}."
            ),
            scope=f"{scope}, {bench.seeds} of pretraining",
            rows=(
                Evidence("masked tokens predicted, %, always the most frequent token", "", f"{100 * unigram:.1f}"),
                Evidence(
                    "masked tokens predicted, %, the token that most often follows the one before",
                    "",
                    f"{100 * bigram:.1f}",
                ),
                Evidence("masked tokens predicted, %, encoder", "", rules.format_with_seeds(accuracy, ".1f", 100)),
                Evidence(
                    "masked tokens predicted, %, encoder without positions",
                    "",
                    rules.format_with_seeds(accuracy_without_order, ".1f", 100),
                ),
                *arithmetic.accuracy_rows(bench, fine_tuning, names),
                Evidence("gain from pretraining, by test accuracy", "", gain.sentence),
            ),
            studies=(pretraining.name, fine_tuning.name),
            notes=(
                "15 % of the tokens are predicted, and a tenth of those are not masked but left unchanged",
                "the pretraining text contains no expression that is held out of fine-tuning, and no result of one",
            ),
        )


def decide(accuracy: BySeed, unigram: float, bigram: float, gain: Difference) -> str:
    """The verdict on the three parts."""
    return rules.all_of(
        rules.beats(accuracy, UNIGRAM_FACTOR * unigram, higher_is_better=True, parts=3),
        rules.beats(accuracy, bigram, higher_is_better=True, parts=3),
        rules.direction(gain, parts=3),
    )


def pretraining_gain(scratch: BySeed, pretrained: BySeed) -> Difference:
    """Fine-tuning of pretrained encoders compared with training from scratch, by accuracy, paired by seed."""
    return judge({"from scratch": scratch, "from pretraining": pretrained}, VerdictRule(higher_is_better=True))[
        "from pretraining"
    ]


def mean_over_arms(arms: Sequence[BySeed]) -> dict[int, float]:
    """Seed -> the mean over the arms, for the seeds that all arms have."""
    common_seeds = set.intersection(*(set(arm) for arm in arms)) if arms else set()
    return {seed: statistics.fmean(arm[seed] for arm in arms) for seed in sorted(common_seeds)}


def unigram_accuracy(training: np.ndarray, scored: np.ndarray) -> float:
    """The share of the scored tokens that are the most frequent training token."""
    return float(np.mean(scored == np.bincount(training).argmax())) if len(training) and len(scored) else float("nan")


def bigram_accuracy(training: np.ndarray, scored: np.ndarray) -> float:
    """The share of the scored tokens that most often follow the token before them in the training text."""
    if len(training) < 2 or len(scored) < 2:
        return float("nan")
    size = int(max(training.max(), scored.max())) + 1
    counts = np.zeros((size, size), np.int64)
    np.add.at(counts, (training[:-1], training[1:]), 1)
    return float(np.mean(counts.argmax(1)[scored[:-1]] == scored[1:]))


def _tokens(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """The training and the validation tokens without separator tokens, which are never masked."""
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, specials=run.task.specials).splits
    return _without_separators(splits["train"]), _without_separators(splits["validation"])


def _without_separators(shard: Shard) -> np.ndarray:
    tokens = np.asarray(shard.tokens, np.int64)
    return tokens[~np.isin(tokens, list(shard.separators))]
