"""Studies at the limits of what the pages must handle: few or no results, extreme values, hostile names."""

import dataclasses
import math
from collections.abc import Callable

from glasshouse.results.study import StudyResults

from . import example_study as example


def first_arm_diverged() -> StudyResults:
    """Every seed of the first arm has diverged, so that nothing can be compared."""
    first, *others = example.study().arms
    diverged = example.arm(first.name, first.changes, 2.4, diverged=first.seeds)
    return dataclasses.replace(example.study(), arms=example.with_differences([diverged, *others], margin=math.nan))


def not_started() -> StudyResults:
    """No run has a result yet."""
    arms = [
        dataclasses.replace(arm, values={}, curves={}, summary=None, difference=None, steps=0, seconds=math.nan)
        for arm in example.study().arms
    ]
    return dataclasses.replace(example.study(), status="interrupted", arms=tuple(arms), created=math.nan)


# Name -> a function that makes the study.
UNUSUAL_STUDIES: dict[str, Callable[[], StudyResults]] = {
    "one seed": lambda: example.study(seeds=1),
    "two seeds": lambda: example.study(seeds=2, points=1),
    "first arm diverged": first_arm_diverged,
    "twenty arms": example.many_arms,
    "one arm": lambda: dataclasses.replace(example.study(), arms=example.study().arms[:1]),
    "no arm": lambda: dataclasses.replace(example.study(), arms=()),
    "not started": not_started,
    "tiny": lambda: example.scaled(1e-12),
    "huge": lambda: example.scaled(1e12),
    "enormous": lambda: example.scaled(1e120),
    "all the same": lambda: example.scaled(0.0),
    "negative": lambda: example.scaled(-1.0),
    "hostile names": example.hostile,
    "sweep": example.sweep,
    "sweep of one field": lambda: example.sweep(1),
}


def with_path_names() -> StudyResults:
    """A study whose arms are named by paths and settings, with letters that LaTeX's default font lacks."""
    plain = example.study(seeds=4)
    names = (
        "../recipes/my_own/speech-lm.toml, learning_rate=3e-4",
        "/home/a&b/100%/speech#2/speech-lm.toml, learning_rate=3e-4",
        "~x^{y}/Größe_α_中/ąλ.toml, pad=-1",
        "C:\\x\\~y, kinds=[a_b, c^d], end=--",
        '""',
    )
    arms = [dataclasses.replace(arm, name=name, notes=("x (-1.8%)",)) for arm, name in zip(plain.arms, names, strict=True)]
    return dataclasses.replace(plain, name="a_b & 50%", recipe="../my_own/50%_&_#3", arms=example.with_differences(arms))
