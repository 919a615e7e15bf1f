"""A study in words and written figures: what was compared, how it was judged, each arm as a row. Knows no HTML or LaTeX."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.formatting import NOTHING, decimals, interval, listed, number, p_value
from glasshouse.metrics.verdicts import Difference, Summary
from glasshouse.pages.study_content import Arm, StudyResults

# A sign for each verdict, so that colour is never needed to tell them apart.
MARKS = {"better": "✓", "worse": "✗", "no difference": "=", "undecided": "?"}


@dataclass(frozen=True)
class ArmRow:
    """An arm as it stands in a table. A figure that is not known is a dash."""

    label: str  # its name, without what all arms' names share
    seeds: str
    mean: str
    interval: str
    difference: str
    difference_interval: str
    p: str
    effect: str
    word: str
    costs: dict[str, str]  # "parameters", "steps", "tokens", "FLOPs", "time", "memory"
    notes: tuple[str, ...]


def rows(comparison: StudyResults) -> list[ArmRow]:
    """Every arm, in order; means share their decimals, and so do differences."""
    summaries = [arm.summary for arm in comparison.arms if arm.summary]
    differences = [arm.difference for arm in comparison.arms if arm.difference]
    places = decimals([(each.low, each.high) for each in summaries])
    finer = decimals([(each.low, each.high) for each in differences])
    named = labels(comparison)[1]
    return [_row(arm, label, places, finer) for arm, label in zip(comparison.arms, named, strict=True)]


def _row(arm: Arm, label: str, places: int | None, finer: int | None) -> ArmRow:
    came_through = sum(math.isfinite(value) for value in arm.values.values())
    summary, difference = arm.summary, arm.difference
    return ArmRow(
        label=label,
        seeds=str(came_through) if came_through == len(arm.seeds) else f"{came_through} of {len(arm.seeds)}",
        mean=number(summary.mean, places) if summary else NOTHING,
        interval=interval(summary.low, summary.high, places) if summary else "",
        difference=number(difference.mean, finer, signed=True) if difference else NOTHING,
        difference_interval=interval(difference.low, difference.high, finer, signed=True) if difference else "",
        p=p_value(difference.adjusted_p) if difference else NOTHING,
        effect=number(difference.effect, 2, signed=True) if difference else NOTHING,
        word=difference.word if difference else "",
        costs={
            "parameters": _known(arm.parameters, formatting.count),
            "steps": _known(arm.steps, lambda steps: f"{steps:,.0f}"),
            "tokens": _known(arm.tokens, formatting.count),
            "FLOPs": _known(arm.flops, lambda flops: formatting.flops(flops).removesuffix("FLOP").strip()),
            "time": _known(arm.seconds, formatting.duration),
            "memory": _known(arm.memory, formatting.size),
        },
        notes=(*_diverged(arm), *arm.notes),
    )


def _known(amount: float, written: Callable[[float], str]) -> str:
    """A cost, or a dash where it was not measured."""
    return written(amount) if math.isfinite(amount) and amount > 0 else NOTHING


def _diverged(arm: Arm) -> tuple[str, ...]:
    if not arm.diverged:
        return ()
    if len(arm.diverged) == 1:
        return (f"seed {arm.diverged[0]} diverged",)
    if set(arm.diverged) == set(arm.seeds):
        return (f"every seed diverged ({listed(arm.diverged)})",)
    return (f"seeds {listed(arm.diverged)} diverged",)


def changed(comparison: StudyResults) -> dict[str, list[str]]:
    """Each field that differs between the arms, with its values in order of appearance."""
    fields: dict[str, list[str]] = {}
    for arm in comparison.arms:
        for name, value in arm.changes.items():
            values = fields.setdefault(name, [])
            if value not in values:
                values.append(value)
    untouched = {name for name in fields if any(name not in arm.changes for arm in comparison.arms)}
    return {name: values for name, values in fields.items() if len(values) > 1 or name in untouched}


def seeds(comparison: StudyResults) -> str:
    """How many seeds an arm has: "16 seeds each", or a range while a study grows."""
    counts = sorted({len(arm.seeds) for arm in comparison.arms}) or [0]
    if counts[0] == counts[-1]:
        return f"{counts[0]} seed{'' if counts[0] == 1 else 's'} each"
    return f"{counts[0]} to {counts[-1]} seeds each"


def runs(comparison: StudyResults) -> tuple[int, int]:
    """How many runs have a result, diverged ones included, and how many there are to be."""
    return (
        sum(len(set(arm.values) & set(arm.seeds)) for arm in comparison.arms),
        sum(len(arm.seeds) for arm in comparison.arms),
    )


def margin(comparison: StudyResults) -> float:
    """The margin the arms were judged by; NaN where none is known yet."""
    margins = [arm.difference.margin for arm in comparison.arms if arm.difference]
    given = comparison.rule.margin
    return next(filter(math.isfinite, margins), math.nan if given is None else given)


def margin_in_words(comparison: StudyResults) -> str:
    """The margin with where it comes from."""
    rule, size = comparison.rule, margin(comparison)
    size_in_words = f"±{number(size)}" if math.isfinite(size) else "not known yet"
    if rule.margin is not None or not comparison.arms:
        return f"{size_in_words} (given)"
    spread = "one standard deviation" if rule.spread == 1 else f"{rule.spread:g} standard deviations"
    return f"{size_in_words} ({spread} between the seeds of {comparison.arms[0].name})"


def statement(comparison: StudyResults) -> list[str]:
    """What was compared and how it was judged, in sentences."""
    fields, arms = changed(comparison), comparison.arms
    recipe = _of_recipe(comparison)
    if not arms:
        what = f"A study{recipe} that has no arms yet."
    elif len(fields) == 1:
        ((name, values),) = fields.items()
        shown = listed(values) if len(values) <= 8 else f"{len(values)} values from {values[0]} to {values[-1]}"
        what = f"{name}{recipe}: {shown}, {seeds(comparison)}, matched by {comparison.match}."
    elif fields:
        grid = listed(f"{name} ({len(values)} values)" for name, values in fields.items())
        what = f"{len(arms)} arms{recipe} over {grid}, {seeds(comparison)}, matched by {comparison.match}."
    else:
        names = listed(arm.name for arm in arms) if len(arms) <= 8 else f"{len(arms)} arms"
        what = f"{names}{recipe}, {seeds(comparison)}, matched by {comparison.match}."
    better = "higher" if comparison.higher_is_better else "lower"
    how = (
        f"The metric is {comparison.metric} ({better} is better); "
        f"the margin is {margin_in_words(comparison)}, alpha is {comparison.rule.alpha:g}."
    )
    looks = comparison.rule.looks
    if looks:
        how += f" The arms were judged after {listed(looks)} seeds, and alpha holds over all these looks together."
    return [what, how]


def labels(comparison: StudyResults) -> tuple[str, list[str]]:
    """What the arms are told apart by, and each arm's short name: ("width, heads", ["32, 1", "32, 2"]).

    The heading is empty where names are no list of fields with values, and stand as they are.
    """
    names = [arm.name for arm in comparison.arms]
    parts = [[part.partition("=") for part in name.split(", ")] for name in names]
    keys = {tuple(key for key, _, _ in each) for each in parts}
    told = [", ".join(value for _, _, value in each) for each in parts]
    if len(keys) != 1 or not all(equals for each in parts for _, equals, _ in each) or len(set(told)) < len(set(names)):
        return "", names
    return ", ".join(keys.pop()), told


def _of_recipe(comparison: StudyResults) -> str:
    """ " of the recipe speech-lm"; nothing where the arms are the recipes themselves."""
    if not comparison.recipe or comparison.recipe == listed(arm.name for arm in comparison.arms):
        return ""
    return f" of the recipe{'s' if ' and ' in comparison.recipe else ''} {comparison.recipe}"


def curve(comparison: StudyResults) -> str:
    """What the curves show. A loss that is of no split is that of training."""
    return "training loss" if comparison.curve == "loss" else comparison.curve


def short_names(names: list[str], most: int) -> list[str]:
    """Names cut to so many characters, each still different from the others."""
    ends = [_cut(name, most) for name in names]
    if len(set(ends)) < len(set(names)):
        # Arms of a grid begin alike and differ at the end: cut those in the middle.
        front = max(1, most // 2 - 1)
        ends = [name if len(name) <= most else f"{name[:front]}…{name[front + 1 - most :]}" for name in names]
    seen = Counter(ends)
    return [end if seen[end] == 1 else f"{_cut(end, most - 5)} ({place + 1})" for place, end in enumerate(ends)]


def _cut(name: str, most: int) -> str:
    return name if len(name) <= most else name[: max(1, most - 1)] + "…"


def halved(comparison: StudyResults) -> Iterator[tuple[str, str]]:
    """Each arm's mean and its difference from the first, with half their intervals."""
    summaries, differences = [arm.summary for arm in comparison.arms], [arm.difference for arm in comparison.arms]
    places = decimals([(each.low, each.high) for each in summaries if each])
    finer = decimals([(each.low, each.high) for each in differences if each])
    for summary, difference in zip(summaries, differences, strict=True):
        yield _half(summary, places), _half(difference, finer, signed=True)


def _half(found: Summary | Difference | None, places: int | None, signed: bool = False) -> str:
    if found is None:
        return NOTHING
    mean = number(found.mean, places, signed)
    return f"{mean} ± {number(found.high - found.mean, places)}" if found.high > found.mean else mean
