"""Lists that a command shows at once: recipes, runs, parts. Nothing here imports torch until parts are asked about."""

from dataclasses import dataclass
from pathlib import Path

from glasshouse.records import metric_log, run_folder
from glasshouse.specs import catalogue, declared, spec_files
from glasshouse.specs import recipes as recipe_files
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.recipes import Recipe
from glasshouse.specs.spec import SECTIONS


def recipes() -> list[Recipe]:
    """The named specs that ship with the package."""
    return list(recipe_files.every().values())


@dataclass(frozen=True)
class RecipeField:
    """A field of a recipe's spec: its dotted name, its value, what it means, and the words it may have."""

    name: str
    value: object
    about: str
    words: tuple[str, ...] = ()


def recipe_fields(name: str) -> list[RecipeField]:
    """Every field of a recipe, those that its parts declare among them."""
    spec = spec_files.unchecked(recipe_files.tables_of(name))
    found = [RecipeField("task", spec.task, "what is asked of the model", tuple(catalogue.names("task")))]
    for section in SECTIONS:
        for field, (_, rule, _) in declared.fields_of(spec, section).items():
            words = rule.choices or (tuple(catalogue.names(rule.family)) if rule.family else ())
            found.append(RecipeField(f"{section}.{field}", declared.value_of(spec, f"{section}.{field}"), rule.about, words))
    return found


@dataclass(frozen=True)
class RunOverview:
    """A run in a list: what its folder says without opening its model."""

    name: str
    status: str
    steps: int = 0
    headline: tuple[tuple[str, str], ...] = ()
    data: str = ""
    error: str = ""


def runs_overview() -> list[RunOverview]:
    """Every run in the runs folder, oldest first, without opening a model."""
    return [_overview(run) for run in run_folder.every()]


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
        tuple((title, figure) for title, figure in facts.get("headline", {}).get("validation", ())),
        text or str(facts.get("origin", "")),
    )
