"""Matching: every arm gets the same steps, tokens, FLOPs, parameters or training time as the first arm. Trains nothing.

When matching changes the number of steps, the learning-rate schedule stretches with it. `evaluation.every` changes in
proportion, so that every arm chooses its best checkpoint from the same number of evaluations.
"""

import statistics
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch

from glasshouse import models
from glasshouse.models import parameter_counts
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.training import cost_plan, devices
from glasshouse.training.job import Job

QUANTITIES = ("steps", "tokens", "flops", "parameters", "time")
# An arm whose quantity differs from the first arm's by a larger share is refused as unfair.
MAX_MISMATCH = 0.10
# Step times are measured in rounds over all arms, so that a temporary slowdown of the machine affects all arms.
ROUNDS = 5
# Matching by tokens, FLOPs or time sets these fields in every arm, so they cannot vary between arms.
SET_BY_STEPS = ("training.steps", "training.epochs", "evaluation.every")
# The search for a width ends here; no model in use is wider.
MAX_WIDTH = 2**16


@dataclass(frozen=True)
class MatchedArms:
    """The jobs as they will run, notes on each arm, a note on the study, and the measured step seconds by arm and round."""

    jobs: tuple[Job, ...]
    notes: tuple[tuple[str, ...], ...]
    about: str
    step_seconds: tuple[tuple[float, ...], ...] = ()


def match(
    quantity: str,
    names: Sequence[str],
    jobs: Sequence[Job],
    varied: Sequence[str],
    progress: Callable[[float, str], None] = lambda share, what: None,
) -> MatchedArms:
    """Make every job equal to the first in one quantity. `varied` lists the fields that define the arms."""
    if quantity not in QUANTITIES:
        raise SpecError(f"is not one of: {', '.join(QUANTITIES)}", "match", quantity)
    if quantity == "steps":
        matched = MatchedArms(tuple(jobs), tuple(() for _ in jobs), _describe_steps(jobs))
    elif quantity == "parameters":
        matched = _match_parameters(names, jobs, varied)
    else:
        matched = _match_by_steps(quantity, names, jobs, varied, progress)
    _refuse_equal_arms(quantity, names, matched.jobs)
    return matched


def _match_by_steps(
    quantity: str, names: Sequence[str], jobs: Sequence[Job], varied: Sequence[str], progress: Callable[[float, str], None]
) -> MatchedArms:
    """Give each arm the number of steps with which it uses as much as the first."""
    if overwritten := [field for field in varied if field in SET_BY_STEPS]:
        raise SpecError(f"sets {overwritten[0]}, which varies between the arms; use --match steps", "match", quantity)
    seconds: tuple[tuple[float, ...], ...] = ()
    if quantity == "tokens":
        noun, costs = "tokens", [job.step_tokens() for job in jobs]
    elif quantity == "flops":
        noun, costs = "training FLOPs", [float(job.step_flops()) for job in jobs]
    else:
        seconds = measure_step_seconds(names, jobs, progress)
        noun, costs = "time in training steps", [statistics.median(rounds) for rounds in seconds]
    matched_jobs, notes = [], []
    for name, job, cost in zip(names, jobs, costs, strict=True):
        if cost <= 0:
            raise SpecError(f"arm {name!r} uses no {noun} per step, so it cannot be matched by them; use another --match")
        matched, note = _with_steps(quantity, name, names[0], job, jobs[0], jobs[0].steps * costs[0] / cost)
        matched_jobs.append(matched)
        notes.append(note)
    about = f"matched by {noun}: every arm gets as much as {names[0]}; schedules and evaluation.every change in proportion"
    if quantity == "time":
        about += f"; the steps of each arm were timed alone, in {ROUNDS} rounds over all arms, without the first step"
        if any(len(job.stages) > 1 for job in matched_jobs):
            about += ", and each stage of a warm-up by itself"
    if any(job.spec.training.patience for job in matched_jobs):
        about += "; a run that training.patience ends early gets less"
    return MatchedArms(tuple(matched_jobs), tuple(notes), about, seconds)


def count_parameters(job: Job, model: ModelSpec) -> int:
    return parameter_counts.parameters(meta_model(job, model))


def measure_step_seconds(
    names: Sequence[str], jobs: Sequence[Job], progress: Callable[[float, str], None] = lambda share, what: None
) -> tuple[tuple[float, ...], ...]:
    """Seconds per training step, by arm and round. Every arm is timed once in each round, alone on the device."""
    seconds: list[list[float]] = [[] for _ in jobs]
    for round_number in range(ROUNDS):
        for index, job in enumerate(jobs):
            progress((round_number * len(jobs) + index) / (ROUNDS * len(jobs)), f"timing {names[index]}")
            with devices.threads(job.spec.training.threads):
                # A new engine in each round: the device need not hold all arms at the same time.
                seconds[index].append(cost_plan.step_seconds(cost_plan.timing_job(job).engine(), job.device))
    return tuple(map(tuple, seconds))


def meta_model(job: Job, model: ModelSpec) -> torch.nn.Module:
    """A model on the meta device: it has shapes but no memory for its parameters."""
    with models.WithoutWeights():
        return models.assemble(model, job.prepared.tokenizer.vocabulary, job.spec.data.context)


def _describe_steps(jobs: Sequence[Job]) -> str:
    steps = {job.steps for job in jobs}
    if len(steps) == 1:
        early = ", or fewer if training.patience ends a run early"
        patient = any(job.spec.training.patience for job in jobs)
        return f"matched by steps: every arm takes {jobs[0].steps:,}{early if patient else ''}"
    return f"every arm takes the steps of its spec, {min(steps):,} to {max(steps):,}: the arms are not matched"


def _refuse_equal_arms(quantity: str, names: Sequence[str], jobs: Sequence[Job]) -> None:
    """Raise an error if two arms would train the same run, even if their specs are written differently."""
    known: dict[Spec, str] = {}
    for name, job in zip(names, jobs, strict=True):
        training = replace(job.spec.training, steps=job.steps, epochs=0.0)
        evaluation = replace(job.spec.evaluation, every=min(job.spec.evaluation.every, job.steps))
        spec = replace(job.spec, training=training, evaluation=evaluation)
        if spec in known:
            raise SpecError(f"the arms {known[spec]!r} and {name!r} are the same run with --match={quantity}; remove one")
        known[spec] = name


def _with_steps(
    quantity: str, name: str, first_name: str, job: Job, first: Job, exact: float
) -> tuple[Job, tuple[str, ...]]:
    """The job with the whole number of steps nearest to `exact` and as many evaluations as the first; notes on that."""
    steps = max(round(exact), 1)
    mismatch = steps / exact - 1
    if abs(mismatch) > MAX_MISMATCH:
        off = f"a whole number is {mismatch:+.0%} off; raise training.steps, or use another --match"
        raise SpecError(f"arm {name!r} needs {exact:.2g} steps to match the {quantity} of {first_name!r}, and {off}")
    if steps == job.steps == first.steps:
        return job, ()
    every = max(round(first.spec.evaluation.every * steps / first.steps), 1)
    training = replace(job.spec.training, steps=steps, epochs=0.0)
    evaluation = replace(job.spec.evaluation, every=min(every, steps))
    matched = replace(job, spec=replace(job.spec, training=training, evaluation=evaluation), steps=steps)
    # A rounding error is stated only if it is large enough to show in a table.
    rounding = f" ({mismatch:+.1%})" if abs(mismatch) >= 0.001 else ""
    note = f"{steps:,} steps instead of {job.steps:,}, to match the {quantity} of {first_name}{rounding}"
    return matched, (note,) if steps != job.steps else ()


def _match_parameters(names: Sequence[str], jobs: Sequence[Job], varied: Sequence[str]) -> MatchedArms:
    if "model.width" in varied:
        raise SpecError("sets model.width, which varies between the arms; use another --match", "match", "parameters")
    target = count_parameters(jobs[0], jobs[0].spec.model)
    matched_jobs: list[Job] = [jobs[0]]
    notes: list[tuple[str, ...]] = [()]
    for name, job in zip(names[1:], jobs[1:], strict=True):
        spec, note = _with_matched_width(name, names[0], job, target)
        matched_jobs.append(replace(job, spec=spec))
        notes.append(note)
    about = f"matched by parameters: each arm has the width with about the {target:,} of {names[0]}; {_describe_steps(jobs)}"
    return MatchedArms(tuple(matched_jobs), tuple(notes), about)


def _with_matched_width(name: str, first: str, job: Job, target: int) -> tuple[Spec, tuple[str, ...]]:
    """The spec with the width whose parameter count is nearest to the target, and notes on the change."""
    model = job.spec.model
    unmatched = count_parameters(job, model)
    candidates = {model.width: unmatched}  # width -> parameters
    if unmatched != target:
        if job.spec.training.start_from:
            raise SpecError(f"arm {name!r} starts from another run, which fixes its width; use another --match")
        candidates |= _nearest_widths(job, target)
    width = min(candidates, key=lambda candidate: (abs(candidates[candidate] - target), abs(candidate - model.width)))
    mismatch = candidates[width] / target - 1
    if abs(mismatch) > MAX_MISMATCH:
        near = f"the nearest are {candidates[width]:,} ({mismatch:+.0%}, at model.width={width})"
        raise SpecError(f"arm {name!r} cannot match {target:,} parameters: {near}; use a wider model or another --match")
    parts = [f"width {width} instead of {model.width}"] if width != model.width else []
    if candidates[width] != target:
        parts.append(f"{candidates[width]:,} parameters, {mismatch:+.1%} against {first}")
    return replace(job.spec, model=with_width(model, width)), (": ".join(parts),) if parts else ()


def _nearest_widths(job: Job, target: int) -> dict[int, int]:
    """Width -> parameters for the largest allowed width below the target and the smallest at or above it.

    Widths are multiples of the number of heads (any whole number if model.head_width is set). The search is a bisection,
    because the parameter count grows with the width.
    """
    model = job.spec.model
    unit = 1 if model.head_width else model.heads
    limit = MAX_WIDTH // unit

    @cache
    def count(multiple: int) -> int | None:
        """The parameters; None if the parts of the model do not allow this width (some need heads of even width)."""
        wider = with_width(model, multiple * unit)
        try:
            models.check(wider, job.spec.data.context)
        except SpecError:
            return None
        return count_parameters(job, wider)

    def first_allowed(multiples: range) -> tuple[int, int] | None:
        return next(((multiple, number) for multiple in multiples if (number := count(multiple)) is not None), None)

    def is_enough(multiple: int) -> bool:
        allowed = first_allowed(range(multiple, limit + 1))
        return allowed is not None and allowed[1] >= target

    top = max(model.width // unit, 1)
    while top < limit and not is_enough(top):
        top = min(2 * top, limit)
    enough = bisect_left(range(top), True, lo=1, key=is_enough)
    both = [first_allowed(range(enough, limit + 1)), first_allowed(range(enough - 1, 0, -1))]
    return {multiple * unit: parameters for multiple, parameters in filter(None, both)}


def with_width(model: ModelSpec, width: int) -> ModelSpec:
    """The model with another width. An explicit feed-forward size changes in proportion."""
    feed_forward = max(round(model.feed_forward * width / model.width), 1) if model.feed_forward else 0
    return replace(model, width=width, feed_forward=feed_forward)
