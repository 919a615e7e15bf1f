"""The power plan of a study, before its first run: which true difference its seeds would find four times in five.

This needs the standard deviation of the differences between paired seeds. It is that of an earlier study with the same task,
metric and recipe. Without one, the plan is in units of this standard deviation.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import GlasshouseError
from glasshouse.studies import study_folder, study_values
from glasshouse.studies.study_folder import Design, StudyFolder
from glasshouse.verdicts import statistics
from glasshouse.verdicts.sequential_tests import Look, Looks

# Without a margin to find, the plan names a second number of seeds, this many times larger.
MORE_SEEDS = 2.5
# Fewer degrees of freedom estimate a standard deviation too poorly to plan with.
FEWEST_DEGREES = 3


@dataclass(frozen=True)
class DifferenceDeviation:
    """The standard deviation of the differences between paired seeds, and the runs that it comes from in words."""

    value: float
    source: str


def sentence(design: Design, deviation: DifferenceDeviation | None) -> str:
    seeds = design.question.most_seeds or len(design.seeds)
    unit = deviation.value if deviation else 1.0
    plan = len(design.arms), design.rule.looks, design.rule.alpha
    found, margin = smallest_difference(unit, seeds, *plan), design.rule.margin if deviation else None
    text = f"power: {seeds} seeds find a difference of {_size(found, deviation)} four times in five"
    # Enough seeds for the margin, if it is set and not found yet; or else more.
    more: int | None = math.ceil(MORE_SEEDS * seeds)
    if margin is not None:
        more = None if found <= margin else seeds_to_find(margin, unit, *plan)
    if more:
        smaller = smallest_difference(unit, more, *plan) if margin is None else margin
        text += f"; {more:,} would find {_size(smaller, deviation)}"
    source = deviation.source if deviation else "of the differences between seeds; no earlier study says how large that is"
    return f"{text} ({source})" + ("; the sampling of items adds to this" if design.question.items else "")


def smallest_difference(deviation: float, seeds: int, arms: int = 2, looks: Looks = (), alpha: float = 0.05) -> float:
    """The smallest true difference that a study of `seeds` seeds finds. `arms` includes the first arm.

    With looks it is found at the look with this number of seeds, if not before.
    """
    return statistics.detectable_difference(deviation, seeds, *_level_and_strength(seeds, arms, looks, alpha))


def seeds_to_find(difference: float, deviation: float, arms: int = 2, looks: Looks = (), alpha: float = 0.05) -> int | None:
    """The number of seeds that find this difference, or None if it is beyond `statistics.MAX_SEEDS`.

    With looks it is the number at which the study finds it if it is not stopped before. Beyond the last look the level stays
    what it is there.
    """
    if deviation == 0:
        return 2 if difference else None

    def power(seeds: int) -> float:
        level, strength = _level_and_strength(seeds, arms, looks, alpha)
        return statistics.difference_power(difference / deviation, seeds, level, strength)

    return statistics.seeds_needed(power, 1)


def _level_and_strength(seeds: int, arms: int, looks: Looks, alpha: float) -> tuple[float, float]:
    """The level that every arm is certain to have, and the strength of the adjustment for skewness."""
    look = Look(looks or (seeds,), seeds)
    return look.level(alpha / (arms - 1)), look.strength


def _size(difference: float, deviation: DifferenceDeviation | None) -> str:
    return f"{difference:.2g}" if deviation else f"{difference:.2f} standard deviations"


def deviation_of_earlier_study(design: Design, root: Path) -> DifferenceDeviation | None:
    """From the newest finished study in the folder that has the same task, metric and recipe."""
    found: list[tuple[float, str, float]] = []
    for study, earlier in study_folder.readable_studies(root):
        if not earlier.finished or _kind(earlier) != _kind(design) or earlier.created >= design.created:
            continue
        with suppress(GlasshouseError):  # a damaged run is reported when its study is opened
            if deviation := _pooled(_paired_differences(study, earlier)):
                found.append((earlier.created, study.name, deviation))
    if not found:
        return None
    _, name, deviation = max(found)
    return DifferenceDeviation(deviation, f"by the differences between seeds in the study {name}")


def _kind(design: Design) -> tuple[object, ...]:
    return design.arms[0].spec.task, design.metric, frozenset(resolve_spec.name_of(arm.recipe) for arm in design.arms)


def _paired_differences(study: StudyFolder, design: Design) -> list[list[float]]:
    first, *others = study_values.final_values(study, design).values()
    return [
        [values[seed] - first[seed] for seed in values.keys() & first.keys() if math.isfinite(values[seed] - first[seed])]
        for values in others
    ]


def _pooled(groups: Sequence[Sequence[float]]) -> float:
    """The standard deviation within groups; 0 if they are too small to say."""
    sizes = [len(group) for group in groups if len(group) > 1]
    if sum(sizes) - len(sizes) < FEWEST_DEGREES:
        return 0.0
    squares = sum(float(((np.array(group) - np.mean(group)) ** 2).sum()) for group in groups if len(group) > 1)
    return math.sqrt(squares / (sum(sizes) - len(sizes)))
