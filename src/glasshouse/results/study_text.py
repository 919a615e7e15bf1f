"""A study as text: sentences that describe it, names of its arms, and the values of its swept fields. No HTML or LaTeX."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from glasshouse.formatting import LARGEST_DRAWABLE, join_with_and, number
from glasshouse.results.study import Arm, StudyResults
from glasshouse.verdicts.verdict import BETTER, NO_DIFFERENCE, UNDECIDED, WORSE, Difference

# A symbol for each verdict, so that no reader depends on colour.
SYMBOLS = {BETTER: "✓", WORSE: "✗", NO_DIFFERENCE: "=", UNDECIDED: "?"}
# A line chart needs at least this many values of its field.
FEWEST_VALUES = 3


def notes(arm: Arm) -> tuple[str, ...]:
    """Remarks on an arm: diverged seeds, a seed that decides, and changes that matching made."""
    warning = fragility(arm.difference)
    return (*_divergence(arm), *([warning] if warning else []), *arm.notes)


def _divergence(arm: Arm) -> tuple[str, ...]:
    if not arm.diverged:
        return ()
    if len(arm.diverged) == 1:
        return (f"seed {arm.diverged[0]} diverged",)
    if set(arm.diverged) == set(arm.seeds):
        return (f"every seed diverged ({join_with_and(arm.diverged)})",)
    return (f"seeds {join_with_and(arm.diverged)} diverged",)


def fragility(difference: Difference | None) -> str:
    """A warning if one seed decides the verdict; empty otherwise."""
    if difference is None or difference.fragile is None:
        return ""
    return f"one seed decides: without seed {difference.fragile} the verdict would be another"


def verdict_lines(arm: Arm) -> list[str]:
    """An arm's verdict: a sentence in plain words, and then one with its statistics; nothing without a verdict."""
    if arm.difference is None:
        return []
    warning = fragility(arm.difference)
    plain = f"{arm.plain} ({arm.caution})" if arm.caution else arm.plain
    statistics = arm.difference.sentence + (f"; {warning}" if warning else "")
    return [sentence(text) for text in (plain, statistics) if text]


def sentence(text: str, capital: bool = False) -> str:
    """A text that stands alone, with a full stop. It has no capital where it begins with the name of an arm."""
    text = text[:1].upper() + text[1:] if capital else text
    return text if text.endswith(".") else f"{text}."


def varied_fields(comparison: StudyResults) -> dict[str, list[str]]:
    """Each field that differs between the arms, with its values in order of first use."""
    fields = _values_of_fields(comparison.arms)
    default_in_some = {name for name in fields if any(name not in arm.changes for arm in comparison.arms)}
    return {name: values for name, values in fields.items() if len(values) > 1 or name in default_in_some}


def _values_of_fields(arms: Sequence[Arm]) -> dict[str, list[str]]:
    """The values of each field that an arm changes, in order of first use."""
    changes = [change for arm in arms for change in arm.changes.items()]
    return {field: list(dict.fromkeys(value for name, value in changes if name == field)) for field, _ in changes}


def seed_count(comparison: StudyResults) -> str:
    """The number of seeds per arm: "16 seeds each", or a range if the arms differ."""
    counts = sorted({len(arm.seeds) for arm in comparison.arms}) or [0]
    if counts[0] == counts[-1]:
        return f"{counts[0]} seed{'' if counts[0] == 1 else 's'} each"
    return f"{counts[0]} to {counts[-1]} seeds each"


def run_counts(comparison: StudyResults) -> tuple[int, int]:
    """The number of runs with a result, including diverged ones, and the number of planned runs."""
    return (
        sum(len(set(arm.values) & set(arm.seeds)) for arm in comparison.arms),
        sum(len(arm.seeds) for arm in comparison.arms),
    )


def margin(comparison: StudyResults) -> float:
    """The equivalence margin of the verdicts; NaN if it is not known yet."""
    margins = [arm.difference.margin for arm in comparison.arms if arm.difference]
    fixed = comparison.rule.margin
    return next(filter(math.isfinite, margins), math.nan if fixed is None else fixed)


def margin_in_words(comparison: StudyResults) -> str:
    """The equivalence margin and how it was chosen."""
    rule, size = comparison.rule, margin(comparison)
    size_in_words = f"±{number(size)}" if math.isfinite(size) else "not known yet"
    if rule.margin is not None:
        return f"{size_in_words} (set by the user)"
    if not comparison.arms:
        return size_in_words
    spread = "one standard deviation" if rule.spread == 1 else f"{rule.spread:g} standard deviations"
    return f"{size_in_words} ({spread} between the seeds of {comparison.first_arm.name})"


def description(comparison: StudyResults) -> list[str]:
    """Sentences that say what the study compares and how it reaches verdicts."""
    fields, arms = varied_fields(comparison), comparison.arms
    recipe = _recipe_phrase(comparison)
    design = f"{seed_count(comparison)}, matched by {comparison.match}."
    if not arms:
        what = f"A study{recipe} that has no arms yet."
    elif len(fields) == 1:
        ((name, values),) = fields.items()
        value_list = join_with_and(values) if len(values) <= 8 else f"{len(values)} values from {values[0]} to {values[-1]}"
        what = f"{name}{recipe}: {value_list}, {design}"
    elif fields:
        grid = join_with_and(f"{name} ({len(values)} values)" for name, values in fields.items())
        what = f"{len(arms)} arms{recipe} over {grid}, {design}"
    else:
        names = join_with_and(arm.name for arm in arms) if len(arms) <= 8 else f"{len(arms)} arms"
        what = f"{names}{recipe}, {design}"
    better = "higher" if comparison.higher_is_better else "lower"
    how = (
        f"The metric is {comparison.metric} ({better} is better); "
        f"the margin is {margin_in_words(comparison)}, alpha is {comparison.rule.alpha:g}."
    )
    if comparison.items:
        how += (
            f" Every run is scored on the same {comparison.items:,} {comparison.item_name}, and these are a sample as the "
            "seeds are."
        )
    looks = comparison.rule.looks
    if looks:
        how += f" The arms were tested after {join_with_and(looks)} seeds; alpha holds for all these interim tests together."
    return [what, how]


def labels(comparison: StudyResults) -> tuple[str, list[str]]:
    """The fields that distinguish the arms, and each arm's short name: ("width, heads", ["32, 1", "32, 2"]).

    If the names are not lists of field=value with the same fields, the first string is empty and the names are unchanged.
    """
    names = [arm.name for arm in comparison.arms]
    parts = [[part.partition("=") for part in name.split(", ")] for name in names]
    keys = {tuple(key for key, _, _ in assignments) for assignments in parts}
    values = [", ".join(value for _, _, value in assignments) for assignments in parts]
    all_assignments = all(equals for assignments in parts for _, equals, _ in assignments)
    if len(keys) != 1 or not all_assignments or len(set(values)) < len(set(names)):
        return "", names
    return ", ".join(keys.pop()), values


def marked_labels(comparison: StudyResults) -> list[str]:
    """Each arm's short name. The first arm is named as such where others come before it, as in a sweep."""
    names = labels(comparison)[1]
    return [
        f"{name} (first arm)" if place and arm is comparison.first_arm else name
        for place, (arm, name) in enumerate(zip(comparison.arms, names, strict=True))
    ]


def _recipe_phrase(comparison: StudyResults) -> str:
    """ " of the recipe speech-lm"; the empty string if the arms are the recipes themselves."""
    if not comparison.recipe or comparison.recipe == join_with_and(arm.name for arm in comparison.arms):
        return ""
    return f" of the recipe{'s' if ' and ' in comparison.recipe else ''} {comparison.recipe}"


def short_names(names: list[str], most: int) -> list[str]:
    """Names truncated to `most` characters; different names stay different."""
    short = [_truncate(name, most) for name in names]
    if len(set(short)) < len(set(names)):
        # The arms of a grid begin alike and differ at the end: drop the middle instead.
        front = max(1, most // 2 - 1)
        short = [name if len(name) <= most else f"{name[:front]}…{name[front + 1 - most :]}" for name in names]
    uses = Counter(short)
    return [name if uses[name] == 1 else f"{_truncate(name, most - 5)} ({index + 1})" for index, name in enumerate(short)]


def _truncate(name: str, most: int) -> str:
    return name if len(name) <= most else name[: max(1, most - 1)] + "…"


@dataclass(frozen=True)
class SweptField:
    """A swept field with its values as the user wrote them; numeric values are sorted, others have `numbers=None`."""

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] | None


def swept_fields(comparison: StudyResults) -> list[SweptField]:
    """The fields that have at least two different values among the arms."""
    return [_swept_field(name, values) for name, values in varied_fields(comparison).items() if len(values) > 1]


def in_order_of_values(arms: Sequence[Arm]) -> list[Arm]:
    """The arms by their values of the swept fields: numbers by size, other values in the order of first use."""
    swept = _values_of_fields(arms)
    places = {name: {value: place for place, value in enumerate(_swept_field(name, swept[name]).values)} for name in swept}
    return sorted(arms, key=lambda arm: [places[name].get(arm.changes.get(name, ""), -1) for name in places])


def edge_warnings(comparison: StudyResults, fewest: int = 2) -> list[str]:
    """A sentence for each numeric field of at least `fewest` values whose best value is the smallest or the largest.

    Of two values the best is always one of these, and the sentence says so. A smallest value of 0 is no edge: it usually
    turns the field off, and nothing lies below.
    """
    best, warnings = best_arm(comparison), []
    for field in swept_fields(comparison) if best else []:
        value = best.changes.get(field.name, "") if best else ""
        if field.numbers is None or len(field.values) < fewest or value not in field.values[:: len(field.values) - 1]:
            continue
        tried = "of the only two that were tried" if len(field.values) == 2 else "that was tried"
        largest = value == field.values[-1]
        if largest or as_number(value) != 0:
            warnings.append(
                f"the best {field.name} is {value}, the {'largest' if largest else 'smallest'} {tried}: a "
                f"{'larger' if largest else 'smaller'} one may be better still, so sweep further in that direction"
            )
    return warnings


def best_arm(comparison: StudyResults) -> Arm | None:
    """The arm with the best mean among those with the fewest diverged seeds."""
    candidates = [arm for arm in comparison.arms if arm.summary and math.isfinite(arm.summary.mean)]
    sign = -1 if comparison.higher_is_better else 1
    return min(candidates, key=lambda arm: (len(arm.diverged), sign * arm.summary.mean), default=None)  # type: ignore[union-attr]


def _swept_field(name: str, values: list[str]) -> SweptField:
    numbers = [as_number(value) for value in values]
    if any(math.isnan(number) for number in numbers) or len(set(numbers)) < len(numbers):
        return SweptField(name, tuple(values), None)
    order = sorted(range(len(values)), key=numbers.__getitem__)
    return SweptField(name, tuple(values[index] for index in order), tuple(numbers[index] for index in order))


def as_number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        return math.nan
    return number if abs(number) <= LARGEST_DRAWABLE else math.nan
