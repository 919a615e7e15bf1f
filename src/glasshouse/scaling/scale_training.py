"""Train the runs of a scaling study, in the order that its laws need.

First a sweep at two sizes, which gives every size its learning rate. Then the smaller budgets. Then the losses of the
largest budget are predicted and written to `forecast.json`, before the first of its runs.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace

from glasshouse.launching.submission import Submission
from glasshouse.records import atomic_files, containment, lock
from glasshouse.scaling import budget_forecast, compute_optimal, scale_study
from glasshouse.scaling.budget_forecast import BudgetForecast, ForecastOutcome
from glasshouse.scaling.rate_rule import RateRule
from glasshouse.scaling.scale_study import ScaleStudy, SizeRuns
from glasshouse.scaling.scaling_fit import fit_laws
from glasshouse.specs import spec_files
from glasshouse.specs.errors import DataError, Interrupted, RunError
from glasshouse.specs.spec import Spec
from glasshouse.studies import run_queue, study_planning, study_values
from glasshouse.studies.run_queue import Place, QueuedRun


def train(study: ScaleStudy, place: Place) -> Submission | None:
    """Train the runs that have not ended: the sweep, then the budgets, the smallest first. Or return the jobs that will.

    Before the first run of the largest budget its losses are predicted from the others.
    """
    containment.refuse_links(study.path)
    with lock.hold(study.path, "wait for it or stop it"):
        try:
            while not _have_ended(queue := _sweep_queue(study)):
                if submitted := _train(study, queue, place, f"{study.name}: learning rates"):
                    return submitted
            rule = scale_study.learning_rates(study)
            largest = study.budgets[-1]
            smaller = _queue(study, rule, [budget for budget in study.budgets if budget < largest])
            if submitted := _train(study, smaller, place, study.name):
                return submitted
            if not (study.path / scale_study.FORECAST).exists():
                atomic_files.write_json(study.path / scale_study.FORECAST, asdict(_forecast(study)))
            return _train(study, _queue(study, rule, [largest]), place, f"{study.name}: largest budget")
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse scale run {study.name}") from None


def _train(study: ScaleStudy, queue: Sequence[QueuedRun], place: Place, title: str) -> Submission | None:
    describe = lambda queued: study_values.describe_value(queued.run, study.metric)  # noqa: E731
    return run_queue.run_all(queue, place, study.path, title, describe)


def _have_ended(queue: Sequence[QueuedRun]) -> bool:
    return all(run_queue.status(queued.run) in run_queue.ENDED for queued in queue)


def _sweep_queue(study: ScaleStudy) -> list[QueuedRun]:
    """The runs of the sweep so far. Their seed is none of the study's, so that no rate is chosen for a run that counts."""
    return [
        QueuedRun(
            study.sweep_run(size, rate),
            f"learning rate {rate:.3g}, {size.name}",
            study_planning.with_seed(_spec(study, size, rate), max(study.seeds) + 1),
            study.words[0],
            size.facts,
            len(study.rates) if size.replicas > 1 else 1,
            f"learning-rates/{size.name}",
        )
        for size in study.swept
        for rate in scale_study.swept_rates(study, size)
    ]


def _queue(study: ScaleStudy, rule: RateRule | None, budgets: Sequence[float]) -> list[QueuedRun]:
    """The runs of these budgets."""
    queue: list[QueuedRun] = []
    smaller: dict[str, SizeRuns] = {}
    for size in study.sizes:
        rate = None if rule is None else rule.rate(size.parameters[compute_optimal.WITH_HEAD])
        for seed in study.seeds if size.budget in budgets else ():
            queue.append(
                QueuedRun(
                    study.run(size, seed),
                    f"{size.budget:.3g} FLOPs, {size.name}, seed {seed}",
                    study_planning.with_seed(_spec(study, size, rate), seed),
                    study.words[0],
                    size.facts,
                    size.replicas,
                    f"{size.budget:.3g}/{size.name}",
                    study.run(smaller[size.name], seed) if size.saved_flops else None,
                )
            )
        smaller[size.name] = size
    return queue


def _spec(study: ScaleStudy, size: SizeRuns, rate: float | None) -> Spec:
    spec = spec_files.from_toml(size.spec, str(study.path / scale_study.FILE))
    return spec if rate is None else replace(spec, training=replace(spec.training, learning_rate=rate))


def _forecast(study: ScaleStudy) -> BudgetForecast:
    """The forecast of the largest budget. The same forecast one budget earlier tells how far such forecasts miss."""
    largest = study.budgets[-1]
    try:
        return _forecast_from_below(study, largest, _missed_before(study))
    except (DataError, RunError) as error:
        return BudgetForecast(largest, refused=str(error))


def _missed_before(study: ScaleStudy) -> float:
    """The error of the forecast of the second largest budget; 0 if the budgets below it allow none."""
    try:
        earlier = _forecast_from_below(study, study.budgets[-2], 0.0)
    except (DataError, RunError):
        return 0.0
    outcome = ForecastOutcome(earlier, scale_study.losses_at(study, earlier.budget))
    return outcome.error if outcome.rows else 0.0


def _forecast_from_below(study: ScaleStudy, budget: float, missed: float) -> BudgetForecast:
    """The losses of a budget, predicted from the smaller ones."""
    sizes = [
        (size.name, float(size.parameters[compute_optimal.WITH_HEAD]), float(size.tokens))
        for size in study.sizes
        if size.budget == budget
    ]
    tokens = scale_study.different_tokens(study)
    fit = fit_laws(scale_study.measured(study, below=budget), different_tokens=tokens)
    return budget_forecast.make(fit, budget, sizes, missed)
