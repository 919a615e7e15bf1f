"""Wild values of every field of a spec, alone and in pairs, for every recipe; planned, and some of them trained."""

import math
import random
from functools import cache
from typing import Any, get_origin

from . import damage
from .samples import CHARACTERS, ENCODER, LENGTHS, SIZE, SPEED
from .trying import MOST_ADDRESSES, Kind, Place

BASES = {
    "demo-lm": (*SPEED, *LENGTHS, *SIZE, *CHARACTERS, "data.files=mine.txt"),
    "classifier": (*SPEED, *SIZE, *ENCODER, "data.files=rows.tsv"),
    "translator": (*SPEED, *SIZE, *CHARACTERS, "data.files=pairs.tsv", "training.epochs=0"),
    "masked-model": (*SPEED, *SIZE, "data.vocabulary=280", "data.context=24", "data.files=mine.txt"),
    "scene-clip": (*SPEED, "model.width=16", "model.image_width=16", "model.image_layers=1"),
}


@cache
def every_field() -> list[tuple[str, Any, Any]]:
    """Every field of a spec, and every setting that some part declares: name, type and rule."""
    from glasshouse.specs import declared, spec_fields
    from glasshouse.specs.spec_files import SECTIONS

    found: dict[str, tuple[str, Any, Any]] = {}
    for section, owner in SECTIONS.items():
        for name, field in spec_fields.fields(owner).items():
            found[f"{section}.{name}"] = (f"{section}.{name}", field.kind, field.rule)
        for name in declared.declarations(section):
            found.setdefault(f"{section}.{name}", (f"{section}.{name}", float, None))
    return [("task", str, None), *found.values()]


def wild_field_value(rng: random.Random, kind: Any, rule: Any, mild: bool = False) -> str:
    """A value near the limits of a field, or far beyond them, or of another type; or a word that the field knows.

    A `mild` one is most often of the right type, so that something is trained.
    """
    draw = rng.uniform(0.3, 0.8) if mild else rng.random()
    if draw < 0.3:
        return damage.wild_text(rng)
    if rule is not None and draw < 0.6:
        from glasshouse.specs import catalogue

        words = [*rule.choices, *(catalogue.names(rule.family) if rule.family else ())]
        if words:
            return rng.choice(words)
        limits = [limit for limit in (rule.minimum, rule.maximum) if limit is not None]
        if limits:
            limit = rng.choice(limits)
            return str(rng.choice((limit, limit - 1, limit + 1, limit * 2, math.nextafter(limit, math.inf))))
    if kind is bool or draw < 0.65:
        return rng.choice(("true", "false"))
    if get_origin(kind) is tuple:
        return "[" + ",".join(damage.wild_text(rng) for _ in range(rng.choice((0, 1, 2, 50)))) + "]"
    if draw < 0.8:
        return str(rng.choice((0, 1, 2, 3, 5, 7, 16, 17, 64, 100, 1000, 4096, 10_000, 100_000, 10**6, 0.1, 0.9, 1e-9)))
    return str(damage.wild_number(rng))


def plan(rng: random.Random, number: int, place: Place) -> list[str]:
    """A recipe with one or two wild fields, planned only."""
    return [*_words(rng, number, place), "--dry-run"]


def train(rng: random.Random, number: int, place: Place) -> list[str]:
    """The same, trained."""
    return [*_words(rng, number, place, mild=rng.random() < 0.7), "--name", "new"]


def _words(rng: random.Random, number: int, place: Place, mild: bool = False) -> list[str]:
    place.take("mine.txt", "rows.tsv", "pairs.tsv", "cache")
    fields = every_field()
    recipe = rng.choice(list(BASES))
    chosen = [fields[number % len(fields)], *rng.sample(fields, rng.choice((0, 0, 1, 2)))]
    changes = {name: f"{name}={wild_field_value(rng, kind, rule, mild)}" for name, kind, rule in chosen}
    base = [change for change in BASES[recipe] if change.partition("=")[0] not in changes]
    return ["train", recipe, *base, *changes.values(), "--device", "cpu"]


KINDS = (Kind("specs", 9, plan), Kind("specs, trained", 6, train, most_resident=MOST_ADDRESSES))
