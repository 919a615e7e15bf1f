"""The planning of a study before its first run: arms are checked and matched, the metric is chosen, costs are estimated.

Precision and threads are chosen here for all arms. What must be measured (step times, whether seeds train together) is
measured here, once, and stored with the study. So a study that is stopped and continued behaves as if it had never stopped.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from glasshouse.data.prepared_data import PreparedData
from glasshouse.records import progress_bar
from glasshouse.runs import resolve_spec
from glasshouse.specs import spec_fields, spec_files
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec import DataSpec, Spec, TrainingSpec
from glasshouse.studies import matching, study_values
from glasshouse.studies.arms import ONE_TASK, Variant
from glasshouse.studies.study_folder import Design, PlannedArm, Tuning
from glasshouse.studies.study_options import Question, StudyOptions
from glasshouse.training import cost_plan, devices, evaluation_interval, replica_count, warm_start
from glasshouse.training.job import Job
from glasshouse.verdicts.verdict import VerdictRule

# The maximum number of runs that train together.
MAX_REPLICAS = int(spec_fields.fields(TrainingSpec)["replicas"].rule.maximum or 1)


@dataclass(frozen=True)
class StudyRequest:
    """A study that is to be created, or continued if there is one with the same question."""

    question: Question
    options: StudyOptions  # without a name: the default name, with a number if a study with another question has it
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    tuning: Tuning | None
    root: Path
    default_name: str = ""
    replicates: str = ""
    # Of a new study: whether its arms share an interval of evaluations that is short enough for a curve, if nobody names it.
    shortens_interval: bool = False


def make_design(request: StudyRequest, device: str) -> Design:
    """The design of a new study. Raises an error if any arm is impossible. Creates no folder.

    A multiverse tunes its arms later, so the arms must have what tuning needs.
    """
    question, variants, seeds = request.question, request.variants, request.seeds
    tuning, replicas = request.tuning, request.options.replicas
    if len(tasks := {variant.spec.task: variant.name for variant in variants}) > 1:
        raise SpecError(f"{ONE_TASK} ({', '.join(f'{name} has {task}' for task, name in tasks.items())})")
    names = [variant.name for variant in variants]
    varied = list(dict.fromkeys(field for variant in variants for field in variant.changes))
    jobs = list(_jobs(variants, seeds, device))
    jobs, interval_note = _with_shared_interval(request, jobs)
    metric = _choose_metric(request, jobs)
    if question.items:
        study_values.check_items(metric, names, jobs)
    with progress_bar.bar("planning", outer=True) as show, progress_bar.quiet():
        first_plan = cost_plan.make(jobs[0])
        jobs = [with_first_settings(job, first_plan) for job in jobs]
        matched = matching.match(question.match, names, jobs, varied, show)
        plans = []
        for index, (name, job) in enumerate(zip(names, matched.jobs, strict=True)):
            show(index / len(jobs), f"planning {name}")
            with _arm_named_in_errors(name):
                # Matching leaves the first arm unchanged, so its plan is still valid.
                plans.append(cost_plan.make(job) if index else first_plan)
        replica_counts, reasons = _choose_replicas(matched.jobs, seeds, replicas, show)
    arms = tuple(
        PlannedArm(
            name=variant.name,
            folder=variant.folder,
            recipe=variant.recipe,
            changes=variant.changes,
            asked=spec_files.to_toml(variant.spec),
            spec=job.spec,
            facts={
                "plan": asdict(replace(plan, notes=())),
                "data": job.prepared.fingerprint,
                "labels": list(job.prepared.labels),
                **({"start": asdict(job.transfer)} if job.transfer else {}),
            },
            replicas=count,
            notes=notes,
            step_flops=job.step_flops(),
        )
        for variant, job, plan, notes, count in zip(
            variants, matched.jobs, plans, matched.notes, replica_counts, strict=True
        )
    )
    higher = study_values.metric_declaration(metric, jobs[0].spec.task).higher_is_better
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
        notes=tuple(_notes(question, metric, matched.jobs, [matched.about, *interval_note, *reasons])),
        device=_device_settings(matched.jobs, first_plan.choice),
        replicas=replicas,
        replicates=request.replicates,
        all_pairs=request.options.all_pairs,
        shortens_interval=request.shortens_interval,
    )


@contextmanager
def _arm_named_in_errors(arm: str) -> Iterator[None]:
    try:
        yield
    except GlasshouseError as error:
        raise error.within(f"arm {arm!r}") from None


def _jobs(variants: Sequence[Variant], seeds: Sequence[int], device: str) -> Iterator[Job]:
    """The job of each arm's first seed. A seed whose run to start from is missing is refused before anything is trained."""
    prepared: dict[DataSpec, PreparedData] = {}
    for variant in variants:
        spec, start = variant.spec, variant.spec.training.start_from
        with _arm_named_in_errors(variant.name):
            for seed in seeds if warm_start.SEED in start else ():
                warm_start.find(start, seed)
            job = Job.prepare(with_seed(spec, seeds[0]), devices.pick(device), prepared=prepared.get(spec.data))
        # Arms of one study have one task, so equal data specs give equal data.
        prepared[spec.data] = job.prepared
        yield job


def _with_shared_interval(request: StudyRequest, jobs: list[Job]) -> tuple[list[Job], list[str]]:
    """The jobs with one interval of evaluations that is short enough for a curve, and a note if recipes have others.

    An interval that the user has chosen stays, and so does one that counts for early stopping.
    """
    words = [word for word in request.question.words if "=" in word]
    chosen = resolve_spec.names_interval([variant.recipe for variant in request.variants], words)
    if not request.shortens_interval or chosen or any(each.spec.training.patience for each in request.variants):
        return jobs, []
    costs = [job.evaluation_cost() for job in jobs]
    every = evaluation_interval.choose(costs)
    if all(job.spec.evaluation.every == every for job in jobs):
        return jobs, []
    note = evaluation_interval.remark(costs, every) or (
        f"evaluated every {every:,} steps; {evaluation_interval.FIELD}=N changes that"
    )
    return [job.with_interval(every) for job in jobs], [note]


def _choose_metric(request: StudyRequest, jobs: Sequence[Job]) -> str:
    """The metric that decides. Every arm must have it, and a validation split if arms are tuned, now or in a multiverse."""
    option = "--tune" if request.tuning else "--multiverse" if request.options.multiverse else ""
    splits = [study_values.held_out_splits(job.prepared.splits) for job in jobs]
    metric = request.question.metric or study_values.default_metric(jobs[0].task, splits[0])
    for variant, job, held_out in zip(request.variants, jobs, splits, strict=True):
        with _arm_named_in_errors(variant.name):
            study_values.check_metric(metric, job.task, held_out, job.prepared.labels)
            if option and "validation" not in held_out:
                raise SpecError(f"{option} needs validation text; hold some out, with data.validation=0.1")
    return metric


def with_first_settings(job: Job, first: cost_plan.Plan) -> Job:
    """The job with the precision and threads planned for the first arm, unless its spec sets them."""
    training = job.spec.training
    precision = first.precision if training.precision == "auto" else training.precision
    chosen = replace(training, precision=precision, threads=training.threads or first.threads)
    return replace(job, spec=replace(job.spec, training=chosen))


def _choose_replicas(
    jobs: Sequence[Job], seeds: Sequence[int], requested: str, show: Callable[[float, str], None]
) -> tuple[list[int], list[str]]:
    """The maximum number of runs that train with a run of each arm, and the reason."""
    if requested == "off":
        return [1] * len(jobs), []
    counts, reasons = [], []
    for index, job in enumerate(jobs):
        show(index / len(jobs), "choosing replicas")
        job_of_each_seed = [replace(job, spec=with_seed(job.spec, seed)) for seed in seeds]
        count = len(job_of_each_seed) if requested == "auto" else int(requested)
        size, reason = replica_count.choose(job_of_each_seed[:count], None if requested == "auto" else True)
        # Only the memory limits how many runs train together, unless a number was requested.
        counts.append(1 if size == 1 else MAX_REPLICAS if requested == "auto" else count)
        reasons.append(reason)
    return counts, [f"replicas: {reason}" for reason in dict.fromkeys(reasons) if reason][:1]


def with_seed(spec: Spec, seed: int) -> Spec:
    return replace(spec, training=replace(spec.training, seed=seed))


def _device_settings(jobs: Sequence[Job], choice: str) -> str:
    training = jobs[0].spec.training
    if len({(job.spec.training.precision, job.spec.training.threads) for job in jobs}) > 1:
        return ""
    device = f"device {jobs[0].device.type}"
    threads = f", CPU threads: {training.threads}" if jobs[0].device.type == "cpu" else ""
    settings = f"precision {training.precision}{threads}"
    return f"{device}, the same for every arm: {choice}" if choice else f"{device}, {settings}, the same for every arm"


def _notes(question: Question, metric: str, jobs: Sequence[Job], other_notes: Sequence[str]) -> Iterator[str]:
    if not question.metric:
        no_validation = "" if metric.startswith("validation.") else " (there is no validation text)"
        yield f"{metric} decides, because --metric was not set{no_validation}"
    yield from other_notes
    # The settings that, together with the seed, determine which batches a run reads.
    names = ("batch", "batch_warmup", "start_from")
    if len({(job.spec.data, *(getattr(job.spec.training, name) for name in names)) for job in jobs}) > 1:
        yield "the arms read different batches, so runs with the same seed have little in common except the seed"
    else:
        yield "arms of one seed read the same batches in the same order"
    if (
        study_values.metric_declaration(metric, jobs[0].spec.task).per_token
        and len({job.prepared.tokenizer.digest() for job in jobs}) > 1
    ):
        yield f"the arms have different tokens, so {metric}, which is per token, does not compare them; bits_per_byte does"
    if len({job.prepared.fingerprint for job in jobs}) > 1:
        yield "the arms are evaluated on different texts"
    yield from dict.fromkeys(note for job in jobs for note in job.notes)
