"""What is settled before the first run of a study: that every arm can be, on which metric, how fair, at what cost.

Everything that is measured (precision, threads, times, replicas or not) is measured here, once, and kept with the study, so
that a study that is stopped and continued goes on as if it had not been.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from glasshouse.metrics.verdicts import VerdictRule
from glasshouse.records import progress_bar
from glasshouse.specs import spec_files
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.studies import matching, study_metric
from glasshouse.studies.arms import ONE_TASK, Variant
from glasshouse.studies.study_folder import Design, PlannedArm, Question, Tuning
from glasshouse.training import cost_plan as planning
from glasshouse.training import devices, replica_count
from glasshouse.training.job import Job


def settle(
    question: Question,
    variants: Sequence[Variant],
    seeds: tuple[int, ...],
    device: str,
    replicas: str,
    tuning: Tuning | None,
) -> Design:
    """The design of a new study. Raises where anything in it cannot be; makes no folder."""
    if len(tasks := {variant.spec.task: variant.name for variant in variants}) > 1:
        raise SpecError("one-task", f"{ONE_TASK} ({', '.join(f'{name} has {task}' for task, name in tasks.items())})")
    names = [variant.name for variant in variants]
    varied = list(dict.fromkeys(field for variant in variants for field in variant.changes))
    jobs = [_job(variant, device) for variant in variants]
    metric = _metric(question, variants, jobs)
    if tuning:
        _refuse_untunable(metric, variants, jobs)
    with progress_bar.bar("planning", outer=True) as show, progress_bar.quiet():
        first = planning.make(jobs[0])
        jobs = [_at(job, first) for job in jobs]
        matched = matching.match(question.match, names, jobs, varied, show)
        plans = []
        for place, (name, job) in enumerate(zip(names, matched.jobs, strict=True)):
            show(place / len(jobs), f"planning {name}")
            with _naming(name):
                # The first is as it was: the others come to it.
                plans.append(planning.make(job) if place else first)
        sides, why = _side_by_side(matched.jobs, seeds, replicas, show)
    arms = tuple(
        PlannedArm(
            name=variant.name,
            folder=variant.folder,
            recipe=variant.recipe,
            changes=variant.changes,
            asked=spec_files.to_toml(variant.spec),
            spec=job.spec,
            facts={
                "plan": replace(plan, notes=()).facts(),
                "data": job.prepared.fingerprint,
                "labels": list(job.prepared.labels),
                **({"start": job.loaded.facts()} if job.loaded else {}),
            },
            replicas=side,
            notes=note,
            step_flops=matching.flops_of_a_step(job),
        )
        for variant, job, plan, note, side in zip(variants, matched.jobs, plans, matched.notes, sides, strict=True)
    )
    higher = study_metric.declared(metric, jobs[0].spec.task).higher_is_better
    rule = VerdictRule(alpha=question.alpha, margin=question.margin, higher_is_better=higher, looks=question.looks)
    return Design(
        created=time.time(),
        question=question,
        arms=arms,
        seeds=seeds,
        metric=metric,
        rule=rule,
        tuning=tuning,
        step_seconds=dict(zip(names, map(list, matched.step_seconds), strict=True)) if matched.step_seconds else {},
        leaks=tuple(dict.fromkeys(leak for job in matched.jobs for leak in job.prepared.leaks)),
        notes=tuple(_notes(question, metric, matched.jobs, [matched.about, *why])),
        replicas=replicas,
    )


@contextmanager
def _naming(arm: str) -> Iterator[None]:
    """Say of which arm an error is."""
    try:
        yield
    except GlasshouseError as error:
        raise type(error)(error.code, f"arm {arm!r}: {error}") from None


def _job(variant: Variant, device: str) -> Job:
    with _naming(variant.name):
        return Job.of(variant.spec, devices.pick(device))


def _metric(question: Question, variants: Sequence[Variant], jobs: Sequence[Job]) -> str:
    splits = [study_metric.held_out(job.prepared.splits) for job in jobs]
    metric = question.metric or study_metric.usual(jobs[0].task, splits[0])
    for variant, job, held_out in zip(variants, jobs, splits, strict=True):
        with _naming(variant.name):
            study_metric.check(metric, job.task, held_out, job.prepared.labels)
    return metric


def _refuse_untunable(metric: str, variants: Sequence[Variant], jobs: Sequence[Job]) -> None:
    for variant, job in zip(variants, jobs, strict=True):
        splits = study_metric.held_out(job.prepared.splits)
        with _naming(variant.name):
            if "validation" not in splits:
                raise SpecError(
                    "nothing-held-out",
                    "--tune chooses by the validation text, and this arm has none; hold some out (data.validation=0.1), "
                    "or give each arm its value",
                )
            study_metric.check(f"validation.{metric.partition('.')[2]}", job.task, splits, job.prepared.labels)


def _at(job: Job, first: planning.Plan) -> Job:
    """The job at the precision and the threads that were found best for the first, where its spec leaves them open."""
    training = job.spec.training
    precision = first.precision if training.precision == "auto" else training.precision
    chosen = replace(training, precision=precision, threads=training.threads or first.threads)
    return replace(job, spec=replace(job.spec, training=chosen))


def _side_by_side(
    jobs: Sequence[Job], seeds: Sequence[int], asked: str, show: Callable[[float, str], None]
) -> tuple[list[int], list[str]]:
    """How many seeds of each arm train side by side, and why."""
    if asked == "off":
        return [1] * len(jobs), []
    found, reasons = [], []
    for place, job in enumerate(jobs):
        show(place / len(jobs), "trying replicas")
        several = [replace(job, spec=with_seed(job.spec, seed)) for seed in seeds]
        count = len(several) if asked == "auto" else int(asked)
        size, why = replica_count.size(several[:count], None if asked == "auto" else True)
        found.append(count if size > 1 else 1)
        reasons.append(why)
    return found, [f"replicas: {why}" for why in dict.fromkeys(reasons) if why][:1]


def with_seed(spec: Spec, seed: int) -> Spec:
    """The spec of one seed."""
    return replace(spec, training=replace(spec.training, seed=seed))


def _order(spec: Spec) -> tuple[object, ...]:
    """What decides, beside the seed, which batches a run reads."""
    return spec.data, spec.training.batch, spec.training.start_from


def _notes(question: Question, metric: str, jobs: Sequence[Job], others: Sequence[str]) -> Iterator[str]:
    """What a reader should know of the whole study."""
    if not question.metric:
        lacking = "" if metric.startswith("validation.") else " (there is no validation text)"
        yield f"{metric} decides, as none was asked for{lacking}"
    yield from others
    training = jobs[0].spec.training
    threads = f", CPU threads: {training.threads}" if jobs[0].device.type == "cpu" else ""
    if len({(job.spec.training.precision, job.spec.training.threads) for job in jobs}) == 1:
        yield f"device {jobs[0].device.type}, precision {training.precision}{threads}, the same for every arm"
    if len({_order(job.spec) for job in jobs}) > 1:
        yield "the arms read different batches, so a seed pairs them by little more than its number"
    else:
        yield "arms of one seed read the same batches in the same order"
    if (
        study_metric.declared(metric, jobs[0].spec.task).per_token
        and len({job.prepared.tokenizer.digest() for job in jobs}) > 1
    ):
        yield f"the arms have different tokens, so {metric}, which is per token, does not compare them; bits_per_byte does"
    if len({job.prepared.fingerprint for job in jobs}) > 1:
        yield "the arms are measured on different texts"
    yield from dict.fromkeys(note for job in jobs for note in job.notes)
