"""The arms of a study from the words of a command: values with commas, ranges, grids, recipes. Trains nothing.

`model.position=learned,alibi` means each of these, and so does `training.learning_rate=1e-4..1e-2:log:8`; commas inside
brackets belong to a list. Several such fields make a grid.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from glasshouse.runs import resolve_spec
from glasshouse.specs import declared, spec_fields
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import SECTIONS, Spec

# More would be a mistake of the keyboard: each arm is trained once for every seed.
MOST = 200
SEED = "training.seed"
# What pairs the arms and cannot tell them apart.
PAIRING = (SEED, "training.replicas")
ONE_TASK = "task cannot vary between arms: tasks have no metric in common; compare arms of one task"
# Names that a study's own files have.
RESERVED = ("study.json", "report.html", "table.md", "table.tex", "comparison.json")
LARGEST_SEED = 2**31 - 1
MOST_SEEDS = 1000
_NUMBER = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::(log|lin):(\d+))?")
_FORMS = "write 1e-4..1e-2:log:8, 0..0.5:lin:6, or 1..8 for whole numbers"


@dataclass(frozen=True)
class Variant:
    """An arm before it has run: `changes` are the fields that vary, as given; `folder` is where its runs lie."""

    name: str
    folder: str
    recipe: str
    changes: dict[str, str]
    spec: Spec


@dataclass(frozen=True)
class Words:
    """What a command's words mean: recipes, changes that every arm shares, and the values of each field that varies."""

    recipes: tuple[str, ...]
    fixed: tuple[str, ...]
    varied: dict[str, tuple[str, ...]]

    @property
    def stem(self) -> str:
        """What a study of these is called by default."""
        names = "-or-".join(dict.fromkeys(resolve_spec.name_of(recipe) for recipe in self.recipes[:3]))
        return folder_name("-".join([names, *(field.rpartition(".")[2] for field in self.varied)]))

    @property
    def count(self) -> int:
        return len(self.recipes) * int(np.prod([len(values) for values in self.varied.values()], dtype=object))


def read(words: Sequence[str]) -> Words:
    """Sort the words into recipes and fields, and take the values apart."""
    recipes = [word for word in words if _is_recipe(word)]
    if not recipes:
        raise SpecError(
            "no-recipe", "no recipe is named; begin with one (see `glasshouse recipes`) or the path of a spec's .toml file"
        )
    if twice := [name for place, name in enumerate(recipes) if name in recipes[:place]]:
        raise SpecError("recipe-twice", f"the recipe {twice[0]!r} is named twice; each arm must differ from the others")
    given: dict[str, list[tuple[str, ...]]] = {}
    for word in words:
        if not _is_recipe(word):
            field, _, text = word.partition("=")
            _refuse_field(field.strip())
            given.setdefault(field.strip(), []).append(values_of(field.strip(), text))
    # As in training, what is given later holds; but values that would be lost are not passed over.
    for field, values in given.items():
        if any(len(each) > 1 for each in values[:-1]):
            raise SpecError("field-twice", f"{field} is given more than once; write all its values after one {field}=")
    varied = {field: values[-1] for field, values in given.items() if len(values[-1]) > 1}
    if "task" in varied:
        raise SpecError("one-task", ONE_TASK)
    fixed = tuple(f"{field}={values[-1][0]}" for field, values in given.items() if field not in varied)
    found = Words(tuple(recipes), fixed, varied)
    if found.count < 2:
        single = f" ({fixed[-1]} has one value)" if fixed else ""
        raise SpecError(
            "nothing-to-compare",
            f"there is nothing to compare{single}; give a field several values, such as model.position=learned,rotary, "
            "or name two recipes",
        )
    if found.count > MOST:
        raise SpecError("too-many-arms", f"these make {found.count} arms, and {MOST} is the most; give fewer values")
    return found


def variants(words: Words) -> tuple[Variant, ...]:
    """Every arm, its spec checked."""
    shown = _short_names(list(words.varied))
    recipes = _recipe_names(words.recipes)
    found: list[Variant] = []
    for recipe, *values in product(words.recipes, *words.varied.values()):
        changes = dict(zip(words.varied, values, strict=True))
        parts = [recipes[recipe]] if len(words.recipes) > 1 else []
        if len(changes) == 1 and not parts:
            parts = [values[0] or '""']
        else:
            parts += [f"{shown[field]}={value}" for field, value in changes.items()]
        spec = resolve_spec.spec_of(recipe, *words.fixed, *(f"{field}={value}" for field, value in changes.items()))
        name = ", ".join(parts)
        if same := next((other for other in found if other.spec == spec), None):
            raise SpecError("same-arm", f"the arms {same.name!r} and {name!r} are the same spec; leave one of them out")
        taken = {*RESERVED, *(other.folder for other in found)}
        found.append(Variant(name, _free(folder_name(name), taken), recipe, changes, spec))
    return tuple(found)


def values_of(field: str, text: str) -> tuple[str, ...]:
    """The values that a field is given: each between commas, each of a range; `""` is an empty one."""
    kind = _kind(field)
    found: list[str] = []
    parts = _split(field, text)
    for part in parts:
        if kind in (int, float) and ".." in part:
            found += _range(field, part, kind)
        elif not part and len(parts) > 1:
            raise SpecError(
                "empty-value", f'{field}={text} has an empty value between commas; take a comma away, or write ""'
            )
        else:
            found.append("" if part == '""' else part)
    known: list[Any] = []
    for value in found if len(found) > 1 else ():
        meant = spec_fields.from_text(kind, value, field) if kind else value
        if meant in known:
            raise SpecError("same-arm", f"{field}={text} has the value {value} twice; each arm must differ from the others")
        known.append(meant)
    return tuple(found)


def seeds_of(text: str | int | Sequence[int]) -> tuple[int, ...]:
    """`8` means the seeds 0 to 7; `3,5,9` means these."""
    remedy = "write a number of seeds (--seeds 8) or a list of them (--seeds 3,5,9)"
    if isinstance(text, Sequence) and not isinstance(text, str):
        found = tuple(int(seed) for seed in text)
    else:
        parts = [part.strip() for part in str(text).rstrip(",").split(",")]
        if not all(re.fullmatch(r"[0-9]{1,10}", part) for part in parts):
            raise SpecError("bad-seeds", f"--seeds={text} is not possible; {remedy}")
        if "," not in str(text) and int(parts[0]) > MOST_SEEDS:
            raise SpecError("bad-seeds", f"--seeds={text} is more than {MOST_SEEDS}, the most there can be; {remedy}")
        found = tuple(map(int, parts)) if "," in str(text) else tuple(range(int(parts[0])))
    if len(found) < 2:
        raise SpecError(
            "bad-seeds",
            f"--seeds={text} leaves nothing to tell chance from effect; a verdict needs at least two seeds, better eight",
        )
    if len(set(found)) < len(found):
        raise SpecError("bad-seeds", f"--seeds={text} has a seed twice; each must differ")
    if not all(0 <= seed <= LARGEST_SEED for seed in found):
        raise SpecError("bad-seeds", f"--seeds={text} has a seed outside 0 to {LARGEST_SEED}; {remedy}")
    return found


def folder_name(name: str) -> str:
    """A name with the characters that are safe in every file system, beginning with a letter or digit."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    return safe[:60].rstrip("-._") or "arm"


def _is_recipe(word: str) -> bool:
    return "=" not in word or (word.endswith(".toml") and Path(word).is_file())


def _kind(field: str) -> Any:
    """The type of a field; None where there is no such field, which reading the spec will say better."""
    section, _, name = field.rpartition(".")
    if section not in SECTIONS:
        return None
    base = spec_fields.fields(SECTIONS[section])
    if name in base:
        return base[name].kind
    own = declared.declarations(section).get(name)
    return own[0][1].kind if own else None


def _refuse_field(field: str) -> None:
    if field in PAIRING:
        raise SpecError(
            "pairs-the-arms", f"{field} does not make arms, it pairs them; say which seeds with --seeds 8, or --seeds 3,5,9"
        )


def _split(field: str, text: str) -> list[str]:
    """The parts between commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"[": 1, "]": -1}.get(sign, 0)
        if depth < 0:
            break
        if sign == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    if depth:
        raise SpecError(
            "unbalanced-bracket",
            f"{field}={text} has a bracket without its partner; lists are written [a,b], separated by commas",
        )
    return [*parts, text[start:].strip()]


def _range(field: str, part: str, kind: type) -> list[str]:
    match = _RANGE.fullmatch(part)
    if not match:
        raise SpecError("bad-range", f"{field}={part} is not a range; {_FORMS}")
    low, high, spacing, count = float(match[1]), float(match[2]), match[3], int(match[4] or 0)
    if not -math.inf < low < high < math.inf:
        raise SpecError("bad-range", f"{field}={part} does not rise; {_FORMS}")
    if not spacing:
        if kind is not int or not (low.is_integer() and high.is_integer()):
            raise SpecError("bad-range", f"{field}={part} does not say how many values; {_FORMS}")
        count = int(high - low) + 1
    if not 2 <= count <= MOST:
        raise SpecError("bad-range", f"{field}={part} asks for {count} values; 2 to {MOST} are possible")
    if spacing == "log" and low <= 0:
        raise SpecError(
            "bad-range", f"{field}={part} cannot be spaced by ratio from {low:g}; begin above 0, or write :lin:{count}"
        )
    values = (np.geomspace if spacing == "log" else np.linspace)(low, high, count)
    if kind is int:
        whole = [str(round(value)) for value in values.tolist()]
        if len(set(whole)) < len(whole):
            raise SpecError("bad-range", f"{field}={part} has fewer than {count} whole numbers that differ; ask for fewer")
        return whole
    # What is run is what is shown, so the values are as short as they can be while they differ; the ends are as given.
    for digits in range(3, 18):
        shown = [match[1], *(f"{value:.{digits}g}" for value in values.tolist()[1:-1]), match[2]]
        if len({float(value) for value in shown}) == count:
            return shown
    raise SpecError("bad-range", f"{field}={part} has fewer than {count} numbers that differ; ask for fewer")


def _short_names(fields: list[str]) -> dict[str, str]:
    """Each field's last word, where that tells them apart."""
    short = [field.rpartition(".")[2] for field in fields]
    return dict(zip(fields, short if len(set(short)) == len(short) else fields, strict=True))


def _recipe_names(recipes: Sequence[str]) -> dict[str, str]:
    short = [resolve_spec.name_of(recipe) for recipe in recipes]
    return dict(zip(recipes, short if len(set(short)) == len(short) else recipes, strict=True))


def _free(name: str, taken: set[str]) -> str:
    """The name, or the name with a number where a file system that ignores case would have it already."""
    lower = {each.lower() for each in taken}
    attempt, chosen = 1, name
    while chosen.lower() in lower:
        attempt += 1
        chosen = f"{name}-{attempt}"
    return chosen
