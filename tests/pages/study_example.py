"""Plausible studies: made-up seeds, curves and costs, judged here by plain formulas. Trains nothing."""

import dataclasses
import math
from functools import cache

import numpy as np
from scipy import stats

from glasshouse.metrics.verdicts import Difference, Summary, VerdictRule
from glasshouse.pages.study_content import Arm, StudyResults

NASTY = "<script>alert('1')</script> \\textbf{50 %} & $x_1^2$ #3 ~ | \"q\" `code` *s* {{ 7 * 7 }}"


def summary(values: list[float]) -> Summary | None:
    known = np.array([value for value in values if math.isfinite(value)])
    if not len(known):
        return None
    if len(known) == 1:
        return Summary(1, float(known[0]), math.nan, math.nan, math.nan)
    half = stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known))
    mean = float(known.mean())
    return Summary(len(known), mean, float(known.std(ddof=1)), float(mean - half), float(mean + half))


def difference(arm: Arm, first: Arm, margin: float, higher_is_better: bool) -> Difference | None:
    found = np.array([arm.values[seed] - first.values[seed] for seed in arm.values if seed in first.values])
    found = found[np.isfinite(found)]
    if not len(found):
        return None
    own = summary(found.tolist())
    assert own is not None
    p = float(stats.ttest_1samp(found, 0).pvalue) if len(found) > 1 else math.nan
    word = "undecided"
    if p < 0.05:
        word = "better" if (own.mean > 0) == higher_is_better else "worse"
    elif -margin < own.low and own.high < margin:
        word = "no difference"
    sentence = {
        "undecided": f"{arm.name} against {first.name} is undecided (difference {own.mean:+.3f}); "
        "about 12 more seeds would settle it",
        "no difference": f"{arm.name} shows no difference from {first.name} larger than {margin:.3f}",
    }.get(
        word,
        f"{arm.name} is {word} than {first.name} by {abs(own.mean):.3f} (95 % interval {own.low:.3f} to {own.high:.3f})",
    )
    return Difference(
        len(found), own.mean, own.low, own.high, p, min(1.0, 4 * p), own.mean / own.deviation if own.deviation else math.nan,
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
    """An arm whose seeds fall from `start` to about `end`; what a seed does to every arm is the same for all."""
    generator = np.random.default_rng(sum(map(ord, name)))
    values, curves = {}, {}
    for seed in range(seeds):
        shared = np.random.default_rng(seed).normal(0, 0.03)
        final = end + shared + generator.normal(0, noise)
        at = np.linspace(steps / points, steps, points)
        curve = final + (start - end) * np.exp(-6 * at / steps) + generator.normal(0, 0.012, points)
        if seed in diverged:
            broken = points // 3 + 4 * (seed % 5)
            curve = np.concatenate([curve[:broken], curve[broken] * 1.6 ** np.arange(6), [np.nan]])
            values[seed] = math.nan
        else:
            values[seed] = float(final)
        curves[seed] = [(int(step), float(value)) for step, value in zip(at, curve, strict=False)]
    return Arm(
        name, changes, tuple(range(seeds)), values, curves, summary(list(values.values())), None,
        940_032, steps, steps * 4096, 23_000_000_000_000, 41.5 + 2 * len(name), 412_000_000, diverged,
    )  # fmt: skip


def judged(arms: list[Arm], margin: float = 0.035, higher_is_better: bool = False) -> tuple[Arm, ...]:
    first, *others = arms
    return (first, *(dataclasses.replace(a, difference=difference(a, first, margin, higher_is_better)) for a in others))


@cache
def study(seeds: int = 16, points: int = 60) -> StudyResults:
    """Five ways to tell a model where a token stands, one of them unstable."""
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
        arms=judged(arms),
        notes=("The metric is of the validation split, which no training saw.", "Seeds share their order of batches."),
        machine={"processor": "NVIDIA H200", "memory": "139 GB", "torch": "2.11.0"},
        command="glasshouse compare speech-lm model.position=learned,sinusoidal,alibi,rotary,none --seeds 16",
    )


@cache
def sweep(fields: int = 2) -> StudyResults:
    """Learning rates, alone or with weight decays; the highest rate loses seeds."""
    arms = []
    for rate in np.geomspace(1e-4, 1e-2, 8):
        for decay in ("0", "0.1") if fields == 2 else ("0.1",):
            end = 2.3 + 0.35 * (math.log10(rate) + 2.7) ** 2 + (0.03 if decay == "0" else 0)
            changes = {"training.learning_rate": f"{rate:.2g}"}
            if fields == 2:
                changes["training.weight_decay"] = decay
            lost = (1, 2) if rate > 9e-3 else ()
            name = ", ".join(f"{field.split('.')[1]}={value}" for field, value in changes.items())
            arms.append(arm(name, changes, end, seeds=4, points=30, diverged=lost))
    return dataclasses.replace(
        study(),
        name="rates",
        arms=judged(arms),
        command="glasshouse sweep speech-lm training.learning_rate=1e-4..1e-2:log:8 --seeds 4",
        machine={},
    )


def nasty() -> StudyResults:
    """Names that HTML, Markdown and LaTeX would take for something else."""
    first, second, *others = study(seeds=4).arms
    return dataclasses.replace(
        study(seeds=4),
        name=NASTY,
        metric="loss_<b>",
        recipe="a & b",
        arms=judged([dataclasses.replace(first, name=NASTY), dataclasses.replace(second, name="[x]* ünï\n\0é"), *others]),
        notes=(NASTY,),
        machine={NASTY: NASTY},
        command=NASTY,
    )


@cache
def crowd() -> StudyResults:
    """Twenty arms with long names: one lost every seed, one is far off, one is only begun; the study still runs."""
    arms = [
        arm(
            f"attention=additive with a very long explanation, number {place} of twenty-one",
            {},
            2.4 + place % 7 / 50,
            seeds=6,
        )
        for place in range(20)
    ]
    lost = arm(arms[4].name, {}, 2.4, seeds=6, diverged=tuple(range(6)))
    arms[4] = lost
    arms[7] = arm(arms[7].name, {}, 9.4e8, seeds=6, start=9.9e8)
    begun = {0: arms[9].values[0]}
    arms[9] = dataclasses.replace(arms[9], values=begun, curves={0: arms[9].curves[0][:9]}, summary=summary([begun[0]]))
    return dataclasses.replace(study(), name="crowd", status="training", arms=judged(arms), curve="training loss")


def scaled(factor: float) -> StudyResults:
    """The same study in other units."""
    plain = study(seeds=4)
    arms = []
    for each in plain.arms:
        values = {seed: value * factor for seed, value in each.values.items()}
        curves = {seed: [(step, value * factor) for step, value in points] for seed, points in each.curves.items()}
        new = dataclasses.replace(each, values=values, curves=curves, summary=summary(list(values.values())))
        arms.append(dataclasses.replace(new, difference=None))
    return dataclasses.replace(plain, arms=judged(arms, margin=0.035 * factor))
