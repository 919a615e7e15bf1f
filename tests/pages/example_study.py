"""Realistic examples of studies, with synthetic seeds, curves, costs and verdicts. Nothing is trained."""

import dataclasses
import math
from functools import cache

import numpy as np
from scipy import stats

from glasshouse.results import plain_verdict
from glasshouse.results.study import Arm, ArmPair, MultiverseCell, ReplicationOutcome, StudyRegistration, StudyResults
from glasshouse.verdicts.verdict import Difference, Summary, VerdictRule

# Text that must be escaped in HTML, Markdown and LaTeX.
HOSTILE = "<script>alert('1')</script> \\textbf{50 %} & $x_1^2$ #3 ~ | \"q\" `code` *s* {{ 7 * 7 }}"


def summary(values: list[float]) -> Summary | None:
    """The mean of the finite values with its 95 % interval."""
    known = np.array([value for value in values if math.isfinite(value)])
    if not len(known):
        return None
    if len(known) == 1:
        return Summary(1, float(known[0]), math.nan, math.nan, math.nan)
    half = stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known))
    mean = float(known.mean())
    return Summary(len(known), mean, float(known.std(ddof=1)), float(mean - half), float(mean + half))


def difference(arm: Arm, first: Arm, margin: float, higher_is_better: bool) -> Difference | None:
    """The paired difference between two arms with its verdict; None if no seed finished in both."""
    pairs = np.array([arm.values[seed] - first.values[seed] for seed in arm.values if seed in first.values])
    pairs = pairs[np.isfinite(pairs)]
    if not len(pairs):
        return None
    estimate = summary(pairs.tolist())
    assert estimate is not None
    p = float(stats.ttest_1samp(pairs, 0).pvalue) if len(pairs) > 1 else math.nan
    word = "undecided"
    if p < 0.05:
        word = "better" if (estimate.mean > 0) == higher_is_better else "worse"
    elif -margin < estimate.low and estimate.high < margin:
        word = "no difference"
    sentence = {
        "undecided": f"{arm.name} against {first.name} is undecided (difference {estimate.mean:+.3f}); "
        "about 12 more seeds would settle it",
        "no difference": f"{arm.name} shows no difference from {first.name} larger than {margin:.3f}",
    }.get(
        word,
        f"{arm.name} is {word} than {first.name} by {abs(estimate.mean):.3f} "
        f"(95 % interval {estimate.low:.3f} to {estimate.high:.3f})",
    )
    return Difference(
        len(pairs), estimate.mean, estimate.low, estimate.high, p, min(1.0, 4 * p),
        estimate.mean / estimate.deviation if estimate.deviation else math.nan,
        margin, 0.01, word, 12 if word == "undecided" else None, 0.03, sentence,
    )  # fmt: skip


def arm(
    name: str,
    changes: dict[str, str],
    end: float,
    noise: float = 0.02,
    seeds: int = 16,
    points: int = 60,
    diverged: tuple[int, ...] = (),
    start: float = 5.6,
    steps: int = 3000,
) -> Arm:
    """An arm whose curves fall from `start` to about `end`. A part of each seed's noise is the same for all arms."""
    generator = np.random.default_rng(sum(map(ord, name)))
    values, curves = {}, {}
    for seed in range(seeds):
        shared = np.random.default_rng(seed).normal(0, 0.03)
        final = end + shared + generator.normal(0, noise)
        logged_steps = np.linspace(steps / points, steps, points)
        curve = final + (start - end) * np.exp(-6 * logged_steps / steps) + generator.normal(0, 0.012, points)
        if seed in diverged:
            last = points // 3 + 4 * (seed % 5)
            curve = np.concatenate([curve[:last], curve[last] * 1.6 ** np.arange(6), [np.nan]])
            values[seed] = math.nan
        else:
            values[seed] = float(final)
        curves[seed] = [(int(step), float(value)) for step, value in zip(logged_steps, curve, strict=False)]
    return Arm(
        name, changes, tuple(range(seeds)), values, curves, summary(list(values.values())), None,
        940_032, steps, steps * 4096, 23_000_000_000_000, 41.5 + 2 * len(name), 412_000_000, diverged,
    )  # fmt: skip


def with_differences(arms: list[Arm], margin: float = 0.035, higher_is_better: bool = False) -> tuple[Arm, ...]:
    """The arms, each with its difference from the first, also in plain words."""
    first, *others = arms
    judged = [dataclasses.replace(a, difference=difference(a, first, margin, higher_is_better)) for a in others]
    return (first, *(_in_plain_words(a, first, higher_is_better) for a in judged))


def _in_plain_words(judged: Arm, first: Arm, higher_is_better: bool) -> Arm:
    if judged.difference is None:
        return judged
    values = (judged.values, first.values)
    largest = max(abs(value) for by_seed in values for value in by_seed.values() if math.isfinite(value))
    metric = (
        plain_verdict.PlainMetric("validation accuracy", higher_is_better, percentage=True)
        if higher_is_better
        else plain_verdict.PlainMetric("validation perplexity", higher_is_better, exponential=largest < 60)
    )
    return dataclasses.replace(
        judged,
        plain=plain_verdict.sentence(judged.name, first.name, *values, judged.difference, metric),
        caution=plain_verdict.caution(judged.difference.pairs, quick=False),
    )


@cache
def study(seeds: int = 16, points: int = 60) -> StudyResults:
    """A comparison of five positional encodings; one arm has diverged seeds."""
    ends = {"learned": 2.42, "sinusoidal": 2.425, "alibi": 2.40, "rotary": 2.30, "none": 2.61}
    arms = [
        arm(
            name,
            {"model.position": name},
            end,
            noise=0.07 if name == "alibi" else 0.02,
            seeds=seeds,
            points=points,
            diverged=(3, 11) if name == "none" and seeds > 11 else (),
        )
        for name, end in ends.items()
    ]
    arms[3] = dataclasses.replace(arms[3], parameters=923_648, notes=("no table of positions: 1.7 % fewer parameters",))
    return StudyResults(
        name="positions",
        recipe="speech-lm",
        created=1_763_200_000.0,
        status="done",
        metric="validation.loss",
        higher_is_better=False,
        curve="validation.loss",
        match="steps",
        rule=VerdictRule(),
        arms=with_differences(arms),
        notes=("The metric is of the validation split, which no training saw.", "Seeds share their order of batches."),
        machine={"processor": "NVIDIA H200", "memory": "139 GB", "torch": "2.11.0"},
        command="glasshouse compare speech-lm model.position=learned,sinusoidal,alibi,rotary,none --seeds 16",
    )


@cache
def sweep(fields: int = 2) -> StudyResults:
    """A sweep of learning rates, alone or with weight decays; seeds of the highest rate diverge."""
    arms = []
    for rate in np.geomspace(1e-4, 1e-2, 8):
        for decay in ("0", "0.1") if fields == 2 else ("0.1",):
            end = 2.3 + 0.35 * (math.log10(rate) + 2.7) ** 2 + (0.03 if decay == "0" else 0)
            changes = {"training.learning_rate": f"{rate:.2g}"}
            if fields == 2:
                changes["training.weight_decay"] = decay
            diverged = (1, 2) if rate > 9e-3 else ()
            name = ", ".join(f"{field.split('.')[1]}={value}" for field, value in changes.items())
            arms.append(arm(name, changes, end, seeds=4, points=30, diverged=diverged))
    return dataclasses.replace(
        study(),
        name="rates",
        arms=with_differences(arms),
        command="glasshouse sweep speech-lm training.learning_rate=1e-4..1e-2:log:8 --seeds 4",
        machine={},
    )


def hostile() -> StudyResults:
    """A study whose names must be escaped in HTML, Markdown and LaTeX."""
    first, second, *others = study(seeds=4).arms
    return dataclasses.replace(
        study(seeds=4),
        name=HOSTILE,
        metric="loss_<b>",
        recipe="a & b",
        arms=with_differences(
            [dataclasses.replace(first, name=HOSTILE), dataclasses.replace(second, name="[x]* ünï\n\0é"), *others]
        ),
        notes=(HOSTILE,),
        machine={HOSTILE: HOSTILE},
        command=HOSTILE,
    )


@cache
def many_arms() -> StudyResults:
    """A running study of twenty arms with long names: one has diverged, one is an outlier, one has just started."""
    arms = [
        arm(
            f"attention=additive with a very long explanation, number {index} of twenty-one",
            {},
            2.4 + index % 7 / 50,
            seeds=6,
        )
        for index in range(20)
    ]
    arms[4] = arm(arms[4].name, {}, 2.4, seeds=6, diverged=tuple(range(6)))
    arms[7] = arm(arms[7].name, {}, 9.4e8, seeds=6, start=9.9e8)
    values = {0: arms[9].values[0]}
    arms[9] = dataclasses.replace(arms[9], values=values, curves={0: arms[9].curves[0][:9]}, summary=summary([values[0]]))
    return dataclasses.replace(study(), name="crowd", status="training", arms=with_differences(arms), curve="training loss")


def scaled(factor: float) -> StudyResults:
    """The study with all values multiplied by a factor."""
    plain = study(seeds=4)
    arms = []
    for unscaled in plain.arms:
        values = {seed: value * factor for seed, value in unscaled.values.items()}
        curves = {seed: [(step, value * factor) for step, value in points] for seed, points in unscaled.curves.items()}
        new = dataclasses.replace(unscaled, values=values, curves=curves, summary=summary(list(values.values())))
        arms.append(dataclasses.replace(new, difference=None))
    return dataclasses.replace(plain, arms=with_differences(arms, margin=0.035 * factor))


@cache
def checked() -> StudyResults:
    """A registered study over items with two replications, one of them unfinished, and a multiverse."""
    plain = study()
    differences = {arm.name: arm.difference for arm in plain.arms if arm.difference}
    words = {name: (found.word, "undecided" if name == "rotary" else found.word) for name, found in differences.items()}
    cells = [
        MultiverseCell(
            {"learning rate": rate, "initialisation": scale, "split": split},
            {
                name: dataclasses.replace(found, word="undecided") if name == "rotary" and split == "test" else found
                for name, found in differences.items()
                if not (name == "none" and rate == "tuned" and scale == "1")
            },
            main=(rate, scale, split) == ("reported", "0.5", "validation"),
        )
        for rate in ("reported", "tuned")
        for scale in ("0.5", "1")
        for split in ("validation", "test")
    ]
    return dataclasses.replace(
        plain,
        items=1_234,
        item_name="windows of text",
        registration=StudyRegistration(1_763_200_000.0, "0123456789abcdef" * 4),
        replications=(
            ReplicationOutcome("positions", "positions-replication", words),
            ReplicationOutcome(
                "positions", "second", {name: (found.word, "") for name, found in differences.items()}, False
            ),
        ),
        multiverse=tuple(cells),
    )


@cache
def with_pairs() -> StudyResults:
    """The study with all pairs of its arms."""
    plain = study()
    pairs = [(arm, against) for index, against in enumerate(plain.arms) for arm in plain.arms[index + 1 :]]
    judged = ((arm.name, against.name, difference(arm, against, 0.035, False)) for arm, against in pairs)
    return dataclasses.replace(plain, pairs=tuple(ArmPair(arm, against, found) for arm, against, found in judged if found))
