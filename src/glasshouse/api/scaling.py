"""Public functions for scaling studies and scaling laws: plan, train, fit, and ask what is best for a budget."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from glasshouse.pages import scaling_page
from glasshouse.pages.scaling_page import ScalingContent, ScalingTable
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.scaling import compute_optimal, measurements, scale_study, scaling_report
from glasshouse.scaling.compute_optimal import OptimumCheck
from glasshouse.scaling.scale_plan import MOST_EPOCHS, SPREAD, TOKENS_PER_PARAMETER
from glasshouse.scaling.scale_study import ScaleStudy
from glasshouse.scaling.scaling_fit import RESAMPLES, LawPrediction, ScalingFit, fit_laws, parse_budgets
from glasshouse.specs.errors import DataError


def scale_plan(
    recipe: str,
    *overrides: str,
    budgets: str | Sequence[float],
    sizes: int = 6,
    seeds: int = 3,
    name: str | None = None,
    tokens_per_parameter: float = TOKENS_PER_PARAMETER,
    spread: float = SPREAD,
    most_epochs: float = MOST_EPOCHS,
    device: str = "auto",
) -> ScaleStudy:
    """Plan a scaling study: several sizes of a recipe's model at each budget in FLOPs, and several seeds of each.

    Nothing is trained, but a few steps are timed. Sizes lie around the one that has `tokens_per_parameter` at its budget, up
    to `spread` times larger and smaller. A plan that reads the data more than `most_epochs` times is refused.
    """
    chosen = parse_budgets(budgets) if isinstance(budgets, str) else list(budgets)
    words = (recipe, *overrides)
    return scale_study.plan(words, chosen, sizes, seeds, name, device, tokens_per_parameter, spread, most_epochs)


def scale_run(study: str | PathLike[str], device: str = "auto") -> ScaleStudy:
    """Train the runs of a scaling study that have not ended. The same call continues a study that was interrupted."""
    found = scale_study.find(study)
    scale_study.train(found, device)
    return found


def scale_fit(
    source: str | PathLike[str],
    parameters: str = "parameters",
    tokens: str = "tokens",
    loss: str = "loss",
    flops: str | None = None,
    curve: str | None = None,
    budgets: str | Sequence[float] | None = None,
    different_tokens: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ScalingFit:
    """Fit scaling laws to a scaling study, or to a CSV file: one row for each run, or for each point of a training curve.

    Of a CSV file `parameters`, `tokens`, `loss` and `flops` name columns; "tokens_millions*1e6" multiplies one. Without
    `flops`, compute is 6 N D. Rows with the same value of the column `curve` are one training curve, and `budgets`, such as
    "8e10,1.6e11", says at which FLOPs to compare the curves. `different_tokens` is the number of tokens in the data, if they
    were repeated.
    """
    chosen = parse_budgets(budgets) if isinstance(budgets, str) else budgets
    path = Path(source)
    if path.suffix or path.is_file():
        table = measurements.read_csv(path, parameters, tokens, loss, flops, curve)
    else:
        study = scale_study.find(source)
        table = scale_study.measured(study)
        if different_tokens is None and max(size.epochs for size in study.sizes) > 1:
            different_tokens = study.train_tokens
        left = len(study.sizes) * len(study.seeds) - study.ended()
        found = fit_laws(table, chosen, different_tokens, resamples, seed)
        return replace(found, notes=(f"{left} runs of the study have not ended", *found.notes)) if left else found
    return fit_laws(table, chosen, different_tokens, resamples, seed)


def scale_countings(study: str | PathLike[str], resamples: int = 200) -> ScalingTable:
    """The exponent of the best size of a scaling study, for each way to count parameters and FLOPs."""
    found = scale_study.find(study)
    fits = {
        (count, flops): fit_laws(scale_study.measured(found, count, flops), resamples=resamples)
        for count in compute_optimal.COUNTS
        for flops in scale_study.FLOP_COUNTS
    }
    return scaling_report.counting_table(fits)


def scale_predict(fit: ScalingFit, budget: float, different_tokens: float | None = None) -> list[LawPrediction]:
    """The best size, its tokens and its loss for a budget in FLOPs, by each law, with 95 % intervals."""
    return fit.predict(budget, different_tokens)


def scale_check(
    fit: ScalingFit,
    run: str | PathLike[str] | None = None,
    parameters: float | None = None,
    tokens: float | None = None,
    count: str = compute_optimal.ALL,
) -> list[OptimumCheck]:
    """Whether a run is compute-optimal by each law: its size against the best one for its compute, with 95 % intervals.

    `parameters` and `tokens` replace what the run records, or stand for a model that is not a run. `count` says which
    parameters of a run count: all, without-embeddings, or without-embeddings-with-head, as in the measurements.
    """
    if run is not None:
        recorded = compute_optimal.size_of_run(Run(run, "cpu").facts.get("plan") or {}, count)
        parameters, tokens = parameters or recorded.parameters, tokens or recorded.tokens
    if parameters is None or tokens is None:
        raise DataError("no-size", "name a run, or give both --size and --trained-on")
    return compute_optimal.check_size(fit, compute_optimal.TrainedSize(parameters, tokens))


def scaling_content(
    fit: ScalingFit, title: str = "Scaling laws", budget: float | None = None, different_tokens: float | None = None
) -> ScalingContent:
    """A fit in words, tables and pictures; `budget` adds what to train for it."""
    return scaling_report.content(fit, title, budget, different_tokens)


def write_scaling_page(
    fit: ScalingFit,
    output: str | PathLike[str],
    title: str = "Scaling laws",
    budget: float | None = None,
    different_tokens: float | None = None,
) -> Path:
    """Write the page of a fit: an answer in words, IsoFLOP curves, the frontier, contours, tables. One HTML file."""
    path = Path(output)
    atomic_files.check_output(path, (".html",))
    page = scaling_page.render(scaling_content(fit, title, budget, different_tokens))
    atomic_files.write_text(path, page)
    return path
