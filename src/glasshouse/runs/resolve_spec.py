"""Resolve a recipe and its overrides to the complete spec of a run, which alone reproduces it. Writes no files."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from glasshouse.records import progress_bar, user_paths
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs import recipes, spec_files
from glasshouse.specs.spec import Spec
from glasshouse.training import adaptation, evaluation_interval, warm_start

# Tasks whose recipes from pretrained weights adapt rate, freezing and batch to the number of rows.
FINE_TUNED = ("classify", "multi-label", "regress", "tag")


def spec_of(recipe: str, *overrides: str, **sections: dict[str, Any]) -> Spec:
    """The complete spec of a recipe with overrides. `training.start_from` names a run or an importable model that
    provides the model's shape and tokenizer."""
    overrides = with_full_names(overrides)
    spec = recipes.spec(recipe, overrides, **sections)
    # A run's spec.toml already contains the shape and tokenizer of the run that it started from.
    from_run = Path(recipe).name == "spec.toml"
    resolved_start = recipes.tables_of(recipe).get("training", {}).get("start_from", "") if from_run else ""
    if spec.training.start_from and spec.training.start_from == resolved_start:
        if warm_start.importer_of(resolved_start):
            warm_start.find(resolved_start)  # its tokenizer is in the cache, which may have been emptied
    elif spec.training.start_from:
        origin = warm_start.find(spec.training.start_from)
        inherited = {"model": warm_start.inherited_fields(origin.spec()), "data": {}}
        if origin.tokenizer_file.exists():
            inherited["data"]["tokenizer_file"] = str(origin.tokenizer_file)
        spec = recipes.spec(recipe, overrides, inherited, **sections)
        spec = replace(spec, training=replace(spec.training, start_from=_start_name(spec.training.start_from, origin)))
    adaptable = _adaptable(spec, recipe, _named(overrides, sections))
    return _with_absolute_paths(replace(spec, data=replace(spec.data, adapt=adaptable)))


def run_spec(recipe: str, *overrides: str, **sections: dict[str, Any]) -> Spec:
    """The spec of a single run: `spec_of`, with enough evaluations for a curve unless someone has named their interval."""
    spec, interval = spec_of(recipe, *overrides, **sections), evaluation_interval.FIELD
    named = names_interval([recipe], overrides, sections)
    if named or spec.training.patience or interval in spec.data.adapt:
        return spec
    return replace(spec, data=replace(spec.data, adapt=(*spec.data.adapt, interval)))


def names_interval(
    recipes: Iterable[str], overrides: Iterable[str], sections: Mapping[str, dict[str, Any]] | None = None
) -> bool:
    """Whether the user has named the steps between evaluations, in an override or in a file of their own."""
    named = _named(with_full_names(overrides), sections or {})
    return evaluation_interval.FIELD in named or any(recipe.endswith(".toml") for recipe in recipes)


def with_full_names(overrides: Iterable[str]) -> tuple[str, ...]:
    """The overrides with the names of fields in place of spec_files. Each alias is told once in a process."""
    overrides = tuple(overrides)
    for word in overrides:
        _tell_alias(word.partition("=")[0].strip())
    return tuple(map(spec_files.with_full_name, overrides))


@cache
def _tell_alias(name: str) -> None:
    if name in spec_files.ALIASES:
        progress_bar.say(f"{name} is {spec_files.ALIASES[name]}")


def _adaptable(spec: Spec, recipe: str, named: set[str]) -> tuple[str, ...]:
    """What may adapt to the user's own data: what a recipe for any data says, not the user.

    A model that starts from another keeps its shape and its tokenizer.
    """
    tables = recipes.tables_of(recipe)
    for_any_data = not recipe.endswith(".toml") and not {"source", "files"} & set(tables.get("data", {}))
    if not for_any_data or not spec.data.files:
        return spec.data.adapt
    if spec.training.start_from:
        named = named | {"model.width", "data.vocabulary", "data.context"}
    fine_tuned = "start_from" in tables.get("training", {}) and spec.task in FINE_TUNED
    return adaptation.adaptable(named, fine_tuned)


def _named(overrides: Iterable[str], sections: Mapping[str, dict[str, Any]]) -> set[str]:
    named = {word.partition("=")[0].strip() for word in overrides}
    return named | {f"{section}.{name}" for section, table in sections.items() for name in table}


def words_of(recipe: str, *overrides: str, **sections: dict[str, Any]) -> list[str]:
    """What the user asked for, as the words of a command: the recipe and the overrides."""
    return [
        recipe,
        *overrides,
        *(f"{name}={spec_files.override_text(value)}" for name, value in spec_files.flat_fields(sections).items()),
    ]


def name_of(recipe: str) -> str:
    """The default name of a run of this recipe. For the spec.toml of another run it is that run's name."""
    path = Path(recipe)
    return path.parent.name if path.name == "spec.toml" and path.parent.name else path.stem


def _start_name(start: str, origin: RunFolder) -> str:
    """The value of `training.start_from` that has the same meaning in any current folder."""
    importer, path = warm_start.importer_of(start), user_paths.expand(start)
    if importer:
        return str(path.absolute()) if importer == "path" else start
    # `{seed}` stays in the name, so that each seed of a study starts from the run with the same seed.
    return str(origin.path.absolute().with_name(path.name) if len(path.parts) == 1 else path.absolute())


def _with_absolute_paths(spec: Spec) -> Spec:
    """The spec with absolute file names, so that it reproduces the run from any current folder."""
    data = spec.data
    absolute: dict[str, Any] = {
        name: tuple(os.path.abspath(os.path.expanduser(file)) for file in getattr(data, name))
        for name in ("files", "validation_files", "test_files")
    }
    tokenizer = os.path.abspath(os.path.expanduser(data.tokenizer_file)) if data.tokenizer_file else ""
    return replace(spec, data=replace(data, tokenizer_file=tokenizer, **absolute))
