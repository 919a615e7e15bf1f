"""Train the runs of a scaling study, in the order that its laws need.

First a sweep at two sizes, which gives every size its learning rate. Then the smaller budgets. Then the losses of the
largest budget are predicted and written to `forecast.json`, before the first of its runs.
"""

from collections.abc import Sequence
from dataclasses import replace

from glasshouse.launching.submission import Submission
from glasshouse.records import containment, lock
from glasshouse.scaling import budget_forecast, compute_optimal, scale_study
from glasshouse.scaling.scale_study import RateRule, ScaleStudy, SizeRuns
from glasshouse.specs import spec_files
from glasshouse.specs.errors import Interrupted
from glasshouse.specs.spec import Spec
from glasshouse.studies import run_queue, study_planning, study_values
from glasshouse.studies.run_queue import Place, QueuedRun


def train(study: ScaleStudy, place: Place) -> Submission | None:
    """Train the runs that have not ended: the sweep, then the budgets, the smallest first. Or return the jobs that will.

    Before the first run of the largest budget its losses are predicted from the others.
    """
    containment.refuse_links(study.path)

    def run(queue: Sequence[QueuedRun], title: str) -> Submission | None:
        return run_queue.run_all(
            queue, place, study.path, title, lambda queued: study_values.describe_value(queued.run, study.metric)
        )

    with lock.hold(study.path, "wait for it or stop it"):
        try:
            for _ in range(1 + scale_study.EXTENSIONS):  # after the first time those that the sweep has added
                if submitted := run(_sweep_queue(study), f"{study.name}: learning rates"):
                    return submitted
            rule = scale_study.learning_rates(study)
            if submitted := run(_queue(study, rule, study.budgets[:-1]), study.name):
                return submitted
            if not (study.path / budget_forecast.FILE).exists():
                budget_forecast.write(study)
            return run(_queue(study, rule, study.budgets[-1:]), f"{study.name}: largest budget")
        except Interrupted as stop:
            raise Interrupted(stop.signal, stop.reached, f"glasshouse scale run {study.name}") from None


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
