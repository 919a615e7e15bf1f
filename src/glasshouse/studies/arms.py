"""The arms of a study, parsed from command-line arguments: recipes, lists of values, ranges, grids. Trains nothing.

`model.position=learned,alibi` gives one arm for each value, and so does `training.learning_rate=1e-4..1e-2:log:8`. Commas
inside brackets separate the items of one list value. Several fields with several values form a grid.

A value of a list is written as it was typed. The values of a range are written alike: with a power of ten if an end has one.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.records import run_folder
from glasshouse.runs import resolve_spec
from glasshouse.specs import declared, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.studies.study_folder import RESERVED_NAMES

# More arms are almost certainly a typing error: each arm is trained once per seed.
MAX_ARMS = 200
# These fields pair the runs of different arms, so they cannot define arms.
PAIRING_FIELDS = ("training.seed", "training.replicas")
ONE_TASK = "task cannot vary between arms, because tasks have no metric in common; compare arms of one task"
LARGEST_SEED = 2**31 - 1
MAX_SEEDS = 1000
_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::(log|lin):(\d+))?")
_RANGE_EXAMPLES = "write 1e-4..1e-2:log:8, 0..0.5:lin:6, or 1..8 for whole numbers"


@dataclass(frozen=True)
class Variant:
    """An arm before it is planned: `changes` maps each varied field to its value as typed; `folder` holds its runs."""

    name: str
    folder: str
    recipe: str
    changes: dict[str, str]
    spec: Spec


@dataclass(frozen=True)
class ArmGrid:
    """Parsed command-line arguments: the recipes, the overrides that all arms share, and the values of each varied field."""

    recipes: tuple[str, ...]
    fixed: tuple[str, ...]
    varied: dict[str, tuple[str, ...]]

    @property
    def default_study_name(self) -> str:
        names = "-or-".join(dict.fromkeys(resolve_spec.name_of(recipe) for recipe in self.recipes[:3]))
        return folder_name("-".join([names, *(field.rpartition(".")[2] for field in self.varied)]))

    @property
    def arm_count(self) -> int:
        return len(self.recipes) * int(np.prod([len(values) for values in self.varied.values()], dtype=object))


def parse(words: Sequence[str]) -> ArmGrid:
    """Sort the words into recipes, fixed overrides and varied fields."""
    recipes = [word for word in words if _is_recipe(word)]
    if not recipes:
        raise SpecError("no recipe is named; begin with one (see `glasshouse recipes`) or with a .toml spec file")
    if duplicates := [name for index, name in enumerate(recipes) if name in recipes[:index]]:
        raise SpecError(f"the recipe {duplicates[0]!r} is named twice; name each recipe once")
    values_by_field: dict[str, list[tuple[str, ...]]] = {}
    for word in resolve_spec.with_full_names(word for word in words if not _is_recipe(word)):
        field, _, text = word.partition("=")
        if field.strip() in PAIRING_FIELDS:
            raise SpecError(f"{field.strip()} cannot define arms, which share their seeds; choose these with --seeds")
        values_by_field.setdefault(field.strip(), []).append(parse_values(field.strip(), text))
    # As in `glasshouse train`, the last value of a repeated field wins, but a list of values must not be lost silently.
    for field, occurrences in values_by_field.items():
        if any(len(values) > 1 for values in occurrences[:-1]):
            raise SpecError(f"{field} is set more than once; write all its values after one {field}=")
    varied = {field: occurrences[-1] for field, occurrences in values_by_field.items() if len(occurrences[-1]) > 1}
    if "task" in varied:
        raise SpecError(ONE_TASK)
    fixed = tuple(f"{field}={occurrences[-1][0]}" for field, occurrences in values_by_field.items() if field not in varied)
    grid = ArmGrid(tuple(recipes), fixed, varied)
    if grid.arm_count < 2:
        single = f" ({fixed[-1]} has one value)" if fixed else ""
        raise SpecError(f"there is only one arm{single}; write several values of a field, such as model.norm=layer,rms")
    if grid.arm_count > MAX_ARMS:
        raise SpecError(f"these values make {grid.arm_count} arms, more than the maximum of {MAX_ARMS}; use fewer values")
    return grid


def expand(grid: ArmGrid) -> tuple[Variant, ...]:
    """Every arm of the grid, with its spec checked. The first field varies slowest."""
    field_names = _short_names(list(grid.varied), lambda field: field.rpartition(".")[2])
    recipe_names = _short_names(grid.recipes, resolve_spec.name_of)
    variants: list[Variant] = []
    for recipe, *values in product(grid.recipes, *grid.varied.values()):
        changes = dict(zip(grid.varied, values, strict=True))
        parts = [recipe_names[recipe]] if len(grid.recipes) > 1 else []
        if len(changes) == 1 and not parts:
            parts = [values[0] or '""']
        else:
            parts += [f"{field_names[field]}={value}" for field, value in changes.items()]
        spec = resolve_spec.spec_of(recipe, *grid.fixed, *(f"{field}={value}" for field, value in changes.items()))
        name = ", ".join(parts)
        if same := next((other for other in variants if other.spec == spec), None):
            raise SpecError(f"the arms {same.name!r} and {name!r} have the same spec; remove one of them")
        # A file system may ignore case.
        used = {folder.lower() for folder in (*RESERVED_NAMES, *(other.folder for other in variants))}
        folder = next(free for free in run_folder.numbered_names(folder_name(name)) if free.lower() not in used)
        variants.append(Variant(name, folder, recipe, changes, spec))
    return tuple(variants)


def parse_values(field: str, text: str) -> tuple[str, ...]:
    """The values of a field: items separated by commas, with ranges expanded. `""` stands for the empty value."""
    found = declared.find_field(field)
    # Resolving the spec gives a better error message for an unknown field.
    field_type = found.kind if found else None
    values: list[str] = []
    parts = _split_at_commas(field, text)
    for part in parts:
        if field_type in (int, float) and ".." in part:
            values += _expand_range(field, part, field_type)
        elif not part and len(parts) > 1:
            raise SpecError(f'{field}={text} has an empty value between commas; remove a comma, or write "" for it')
        else:
            values.append("" if part == '""' else part)
    known: list[Any] = []
    for value in values if len(values) > 1 else ():
        parsed = spec_fields.from_text(field_type, value, field) if field_type else value
        if parsed in known:
            raise SpecError(f"contains the value {value} twice; write each value once", field, text)
        known.append(parsed)
    return tuple(values)


def parse_seeds(text: str | int | Sequence[int]) -> tuple[int, ...]:
    """`8` means the seeds 0 to 7; `3,5,9` means these three seeds."""
    remedy = "write a number of seeds (--seeds 8) or a list of seeds (--seeds 3,5,9)"
    if isinstance(text, Sequence) and not isinstance(text, str):
        seeds = tuple(int(seed) for seed in text)
    else:
        parts = [part.strip() for part in str(text).rstrip(",").split(",")]
        if not all(re.fullmatch(r"[0-9]{1,10}", part) for part in parts):
            raise SpecError(f"is not a list of whole numbers; {remedy}", "seeds", text)
        if "," not in str(text) and int(parts[0]) > MAX_SEEDS:
            raise SpecError(f"is more than the maximum of {MAX_SEEDS} seeds; {remedy}", "seeds", text)
        seeds = tuple(map(int, parts)) if "," in str(text) else tuple(range(int(parts[0])))
    if len(seeds) < 2:
        raise SpecError("is too few to tell an effect from chance; use at least two seeds, better eight", "seeds", text)
    if len(set(seeds)) < len(seeds):
        raise SpecError("contains a seed twice; write each seed once", "seeds", text)
    if not all(0 <= seed <= LARGEST_SEED for seed in seeds):
        raise SpecError(f"contains a seed outside 0 to {LARGEST_SEED}; {remedy}", "seeds", text)
    return seeds


def folder_name(name: str) -> str:
    """A name made of characters that are safe in every file system. It begins with a letter or a digit."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    return safe[:60].rstrip("-._") or "arm"


def _is_recipe(word: str) -> bool:
    return "=" not in word or (word.endswith(".toml") and Path(word).is_file())


def _split_at_commas(field: str, text: str) -> list[str]:
    """The parts of the text between commas, ignoring commas inside brackets."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    if depth:
        raise SpecError("has a bracket without its partner; write a list as [a,b]", field, text)
    return [*parts, text[start:].strip()]


def _expand_range(field: str, part: str, field_type: type) -> list[str]:
    match = _RANGE.fullmatch(part)
    if not match:
        raise SpecError(f"is not a range; {_RANGE_EXAMPLES}", field, part)
    low, high, spacing, count = float(match[1]), float(match[2]), match[3], int(match[4] or 0)
    if not -math.inf < low < high < math.inf:
        raise SpecError(f"does not go from a lower to a higher number; {_RANGE_EXAMPLES}", field, part)
    if not spacing:
        if field_type is not int or not (low.is_integer() and high.is_integer()):
            raise SpecError(f"does not state the number of values; {_RANGE_EXAMPLES}", field, part)
        count = int(high - low) + 1
    if not 2 <= count <= MAX_ARMS:
        raise SpecError(f"has {count} values; choose 2 to {MAX_ARMS}", field, part)
    if spacing == "log" and low <= 0:
        raise SpecError(f"cannot have logarithmic spacing from {low:g}; start above 0, or write :lin:{count}", field, part)
    values = (np.geomspace if spacing == "log" else np.linspace)(low, high, count)
    if field_type is int:
        whole = [str(round(value)) for value in values.tolist()]
        if len(set(whole)) < len(whole):
            raise SpecError(f"contains fewer than {count} different whole numbers; use a smaller count", field, part)
        return whole
    # A run uses exactly the value shown. Rounding moves a value by less than half the smallest step from it; the two ends
    # are exact.
    powers = any("e" in end.lower() for end in (match[1], match[2]))
    steps = np.diff(values)
    largest_error = np.minimum(steps[:-1], steps[1:]) / 2
    for digits in range(3, 18):
        texts = [match[1], *(f"{value:.{digits}g}" for value in values.tolist()[1:-1]), match[2]]
        if (np.abs(np.array(texts[1:-1], float) - values[1:-1]) < largest_error).all():
            return [written_number(text, powers) for text in texts]
    raise SpecError(f"contains fewer than {count} different numbers; use a smaller count", field, part)


def written_number(text: str, power: bool) -> str:
    """The same number as `1e-3`, with a power of ten, or as `0.001`."""
    number = Decimal(text).normalize()
    if not power or not number:
        return f"{number:f}"
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    return f"{'-' * sign}{first}{'.' * bool(rest)}{rest}e{exponent + len(rest)}"


def _short_names(names: Sequence[str], shorten: Callable[[str], str]) -> dict[str, str]:
    """Each name and a shorter one, if the shorter ones differ; otherwise the name itself."""
    short = list(map(shorten, names))
    return dict(zip(names, short if len(set(short)) == len(short) else names, strict=True))
