"""Puts a finished run beside its baselines and stores the result in the run folder. Never ends a run."""

from dataclasses import replace

from glasshouse.baselines import baseline_cache, baseline_results
from glasshouse.baselines.baseline_results import BaselineResults
from glasshouse.baselines.task_baselines import TASKS
from glasshouse.data import prepared_data
from glasshouse.records import item_values
from glasshouse.records.progress_bar import bar, say
from glasshouse.records.status import Status
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError


def ensure(run: Run) -> None:
    """Write `baselines.json`, unless it is there already or the spec leaves baselines out. Failures are said in a line."""
    facts, spec = run.facts, run.spec
    wanted = spec.evaluation.baselines and spec.task in TASKS and bool(spec.data.source or spec.data.files)
    if not wanted or facts.get("status") != Status.DONE or "outcome" not in facts:
        return
    try:
        stored = run.baselines
        if (stored is None or stored.step != _step(run)) and (results := compute(run)):
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
        raise GlasshouseError("data-changed", "the data has changed since the run was trained; train it again")
    with bar("training the obvious baselines") as show:
        baselines = baseline_cache.load_or_train(spec.data, prepared, task, spec.task, show)
    values = item_values.read(run.folder, split)
    if not values and task.item_metrics and any(baseline.values for baseline in baselines):
        with bar(f"scoring the items of the {split} split") as show:
            values = run.item_values(split, show)
    compared = tuple(baseline_results.compare(baseline, own, values) for baseline in baselines)
    measured = [metric.name for metric in TASKS[spec.task].criteria if metric.name in own]
    results = BaselineResults(
        task=spec.task,
        data=prepared.fingerprint,
        split=split,
        step=_step(run),
        metric="",
        items=task.items,
        run={name: own[name] for name in own if any(name in baseline.metrics for baseline in baselines)},
        baselines=compared,
    )
    trained = [name for name in measured if any(name in baseline.metrics for baseline in baselines)]
    return replace(results, metric=(trained or measured or [""])[0])


def _step(run: Run) -> int:
    """The step whose weights the final evaluation used."""
    return int(run.facts.get("best", {}).get("step", 0))
