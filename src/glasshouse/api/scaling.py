"""Public functions for scaling studies and scaling laws: plan, train, fit, and ask what is best for a budget."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.submission import Submission
from glasshouse.pages import scaling_page, scaling_report, svg_chart, transfer_report
from glasshouse.pages.scaling_page import ScalingContent
from glasshouse.records import atomic_files, progress_bar
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import run_of
from glasshouse.scaling import (
    budget_forecast,
    compute_optimal,
    measurements,
    recipe_transfer,
    scale_planning,
    scale_study,
    scale_training,
)
from glasshouse.scaling.compute_optimal import OptimumCheck
from glasshouse.scaling.recipe_transfer import RecipeTransfer
from glasshouse.scaling.scale_study import ScaleStudy
from glasshouse.scaling.scaling_fit import ScalingFit, fit_laws, parse_budgets
from glasshouse.scaling.scaling_options import FitOptions, PlanOptions
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.options import takes
from glasshouse.studies import places

# Of each fit that counts parameters and FLOPs in another way.
COUNTING_RESAMPLES = 200


@takes(PlanOptions)
def plan(recipe: str, *overrides: str, budgets: str | Sequence[float], device: str = "auto", **options: Any) -> ScaleStudy:
    """Plan a scaling study: several sizes of a recipe's model at each budget in FLOPs, and several seeds of each.

    Nothing is trained, but a few steps are timed. Sizes lie around the one that has `tokens_per_parameter` at its budget.
    """
    chosen = parse_budgets(budgets) if isinstance(budgets, str) else list(budgets)
    words = (recipe, *resolve_spec.with_full_names(overrides))
    return scale_planning.plan(words, chosen, PlanOptions(**options), device)


def run(study: str | PathLike[str], device: str = "auto", on: Slurm | None = None) -> ScaleStudy | Submission:
    """Train the runs of a scaling study that have not ended. The same call continues a study that was interrupted.

    With `on=Slurm()` jobs train them, and are returned.
    """
    found = scale_study.find(study)
    place = places.place_of(on, ["scale", "run", str(study)], device)
    return scale_training.train(found, place) or found


@takes(FitOptions)
def fit(source: str | PathLike[str], seed: int = 0, **options: Any) -> ScalingFit:
    """Fit scaling laws to a scaling study, or to a CSV file: one row for each run, or for each point of a training curve."""
    asked = FitOptions(**options)
    budgets = None if asked.budgets is None else parse_budgets(asked.budgets)
    with progress_bar.bar("fitting scaling laws") as show:
        if not scale_study.is_study_name(source):
            table = measurements.read_csv(Path(source), asked.parameters, asked.tokens, asked.loss, asked.flops, asked.curve)
            return fit_laws(table, budgets, asked.data, asked.resamples, seed, show)
        study = scale_study.find(source)
        data = asked.data or scale_study.different_tokens(study)
        found = fit_laws(scale_study.measured(study), budgets, data, asked.resamples, seed, show)
        return replace(found, notes=(*scale_study.notes(study), *found.notes))


def check(
    fit: ScalingFit,
    run: str | PathLike[str] | None = None,
    parameters: float | None = None,
    tokens: float | None = None,
    count: str | None = None,
) -> list[OptimumCheck]:
    """Whether a run is compute-optimal by each law: its size against the best one for its compute, with 95 % intervals.

    `parameters` and `tokens` replace what the run records, or stand for a model that is not a run. `count` says which
    parameters of a run count: all, without-embeddings, or without-embeddings-with-head; by default as in the measurements.
    """
    if run is not None:
        recorded = compute_optimal.size_of_run(run_of(run, "cpu").facts.get("plan") or {}, count or fit.measurements.counted)
        parameters, tokens = parameters or recorded.parameters, tokens or recorded.tokens
    if parameters is None or tokens is None:
        raise DataError("name a run, or give both --size and --trained-on")
    return compute_optimal.check_size(fit, compute_optimal.TrainedSize(parameters, tokens))


@takes(FitOptions)
def transfer(a: str | PathLike[str], b: str | PathLike[str], seed: int = 0, **options: Any) -> RecipeTransfer:
    """How many times the compute of recipe B recipe A needs for the same loss, with 95 % intervals, and whether that grows.

    `a` and `b` are scaling studies, or CSV files. The options are those of `fit`, and hold for both. Studies with
    different data, metrics or tokenizers are refused. Whether the losses of a CSV file can be compared is not known.
    """
    names = [Path(source).name for source in (a, b)]
    if names[0] == names[1]:
        names = [str(source) for source in (a, b)]
    notes = recipe_transfer.check_sources(a, b)
    # The resamples of the two fits must be independent.
    fit_a, fit_b = fit(a, 2 * seed, **options), fit(b, 2 * seed + 1, **options)
    found = recipe_transfer.compare(fit_a, fit_b, *names)
    return replace(found, notes=(*notes, *found.notes))


def list_studies() -> list[str]:
    """The names of the scaling studies in the studies folder."""
    return scale_study.names()


def open_study(name: str | PathLike[str]) -> ScaleStudy:
    """Open a scaling study by its name or path."""
    return scale_study.find(name)


def study_of(run: str | PathLike[str]) -> str:
    """The name of the scaling study on the same data as a run; refused if there is none, or more than one."""
    return scale_study.on_data(run_of(run, "cpu").facts.get("data"))


def content(
    found: ScalingFit | RecipeTransfer,
    title: str = "Scaling laws",
    budget: float | None = None,
    different_tokens: float | None = None,
    source: str | PathLike[str] | None = None,
) -> ScalingContent:
    """A fit, or a comparison of two recipes, in words, tables and pictures.

    `budget` adds what to train for it. `source` is what was fitted: a scaling study adds the losses that it predicted for
    its largest budget beside what came out, and the exponent for each way to count parameters and FLOPs.
    """
    if isinstance(found, RecipeTransfer):
        return transfer_report.content(found)
    if source is None or not scale_study.is_study_name(source):
        return scaling_report.content(found, title, budget, different_tokens)
    study, fits = scale_study.find(source), {}
    ways = list(product(compute_optimal.COUNTS, scale_study.FLOP_COUNTS))
    with progress_bar.bar("counting in other ways") as show:
        for done, (count, flops) in enumerate(ways):
            show(done / len(ways))
            fits[count, flops] = fit_laws(scale_study.measured(study, count, flops), resamples=COUNTING_RESAMPLES)
    shown = scaling_report.content(found, title, budget, different_tokens, budget_forecast.outcome_of(study))
    return replace(shown, tables=(*shown.tables, scaling_report.counting_table(fits)))


def write_page(content: ScalingContent, output: str | PathLike[str]) -> Path:
    """Write the page of a fit, or of a comparison of two recipes: an answer in words, figures, tables. One HTML file."""
    path = Path(output)
    atomic_files.check_output(path, (".html",))
    atomic_files.write_text(path, scaling_page.render(content))
    return path


def write_figures(content: ScalingContent, folder: str | PathLike[str], fit: ScalingFit | None = None) -> list[Path]:
    """Write the figures of a page as SVG files, and the measurements of a fit as a CSV file that `scale fit` reads again."""
    target = Path(folder)
    if target.is_file():
        raise GlasshouseError(f"{target} is a file; name a folder for the figures")
    files = {f"{figure.name}.svg": svg_chart.draw(figure.chart, alone=True) for figure in content.figures}
    if fit is not None:
        files["measurements.csv"] = measurements.to_csv(fit.measurements)
    target.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        atomic_files.write_text(target / name, text)
    return [target / name for name in files]
