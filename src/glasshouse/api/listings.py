"""Public functions that list recipes and runs. They do not import torch, so they are fast."""

from dataclasses import dataclass
from pathlib import Path

from glasshouse.records import metric_log, run_folder
from glasshouse.specs import catalogue, declared, spec_files
from glasshouse.specs import recipes as recipe_files
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.recipes import Recipe
from glasshouse.specs.spec import SECTIONS


def recipes() -> list[Recipe]:
    """The recipes, which are the named specs of the package."""
    return list(recipe_files.all_recipes().values())


@dataclass(frozen=True)
class RecipeField:
    """A field of a recipe's spec: its dotted name, its value, its meaning, and the values that it may have."""

    name: str
    value: object
    about: str
    words: tuple[str, ...] = ()


def recipe_fields(name: str) -> list[RecipeField]:
    """Every field of a recipe, including the fields that its parts declare."""
    spec = spec_files.unchecked(recipe_files.tables_of(name))
    fields = [RecipeField("task", spec.task, "the task of the model", tuple(catalogue.names("task")))]
    for section in SECTIONS:
        for field, (_, rule, _) in declared.fields_of(spec, section).items():
            words = rule.choices or (tuple(catalogue.names(rule.family)) if rule.family else ())
            fields.append(
                RecipeField(f"{section}.{field}", declared.value_of(spec, f"{section}.{field}"), rule.about, words)
            )
    return fields


@dataclass(frozen=True)
class RunOverview:
    """A run as an entry of a list. Its fields are read from the run folder; the model is not loaded."""

    name: str
    status: str
    steps: int = 0
    headline: tuple[tuple[str, str], ...] = ()
    data: str = ""
    error: str = ""


def runs_overview() -> list[RunOverview]:
    """An entry for every run in the runs folder, oldest first. No model is loaded."""
    return [_overview(run) for run in run_folder.all_runs()]


def runs_folder() -> Path:
    """The folder that holds runs: `GLASSHOUSE_RUNS`, or `runs` under the current folder."""
    return run_folder.root()


def _overview(run: run_folder.RunFolder) -> RunOverview:
    try:
        facts, data = run.facts(), run.tables().get("data", {})
    except GlasshouseError as error:
        return RunOverview(run.name, "damaged", error=str(error))
    logged = metric_log.read(run.metrics_file)
    text = data.get("source") or ", ".join(name.rsplit("/", 1)[-1] for name in data.get("files", ()))
    return RunOverview(
        run.name,
        run.status(),
        int(logged[-1]["step"]) if logged else 0,
        tuple((title, value) for title, value in facts.get("headline", {}).get("validation", ())),
        text or str(facts.get("origin", "")),
    )
