"""Puts a finished run beside its baselines and stores the result in the run folder. Never ends a run."""

from glasshouse.baselines import baseline_cache, baseline_results
from glasshouse.baselines.baseline_cache import TASKS
from glasshouse.baselines.baseline_results import BaselineResults
from glasshouse.data import prepared_data
from glasshouse.records import item_values
from glasshouse.records.progress_bar import bar, say
from glasshouse.records.status import Status
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError


def ensure(run: Run) -> None:
    """Write `baselines.json`, unless one that can be read is there or the spec leaves baselines out. Failures are said."""
    facts, spec = run.facts, run.spec
    wanted = spec.evaluation.baselines and spec.task in TASKS and bool(spec.data.source or spec.data.files)
    if not wanted or facts.get("status") != Status.DONE or "outcome" not in facts:
        return
    try:
        stored = run.baselines
        if (stored is None or stored.step != run.final_step) and (results := compute(run)):
            results.write(run.folder.baselines_file)
    except (GlasshouseError, OSError, ValueError, ArithmeticError, KeyError, ImportError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        say(f"{run.name}: no baselines: {reason}")


def compute(run: Run) -> BaselineResults | None:
    """The run beside its baselines; None if nothing is held out."""
    spec, task = run.spec, run.task
    prepared = prepared_data.prepare(spec.data, run.tokenizer, columns=task.columns, specials=task.specials)
    split = baseline_cache.held_out_split(prepared)
    own = run.facts["outcome"].get(split, {})
    if not own:
        return None
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        raise DataError("the data has changed since the run was trained; train it again")
    with bar("training the obvious baselines") as show:
        baselines = baseline_cache.load_or_train(spec.data, prepared, task, spec.task, show)
    values = item_values.read(run.folder, split)
    if not values and task.item_metrics and any(baseline.values for baseline in baselines):
        with bar(f"scoring the items of the {split} split") as show:
            values = run.item_values(split, show)
    in_both = {name for baseline in baselines for name in baseline.metrics if name in own}
    return BaselineResults(
        task=spec.task,
        data=prepared.fingerprint,
        split=split,
        step=run.final_step,
        metric=next((metric.name for metric in TASKS[spec.task].criteria if metric.name in in_both), ""),
        items=task.items,
        run={name: value for name, value in own.items() if name in in_both},
        baselines=tuple(baseline_results.compare(baseline, own, values) for baseline in baselines),
    )
