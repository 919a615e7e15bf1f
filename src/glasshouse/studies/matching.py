"""Making arms fair: each gets as many steps, tokens, FLOPs, parameters or as much time as the first. Trains nothing.

Where steps change, the learning rate's schedule stretches with them, and `evaluation.every` changes in proportion, so that
every arm's best checkpoint is chosen from as many evaluations.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from glasshouse import models
from glasshouse.models import parameter_counts
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec, Spec
from glasshouse.training import cost_plan, devices
from glasshouse.training.job import Job

CURRENCIES = ("steps", "tokens", "flops", "parameters", "time")
# An arm that is further from the first than this is not a fair one.
WORST = 0.10
# Times are measured in so many rounds over all arms, so that a machine that is slower for a while is slower for all.
ROUNDS = 5
# What those currencies set in every arm, and so cannot be what is compared.
SET_BY_STEPS = ("training.steps", "training.epochs", "evaluation.every")
# No model of ours is wider; the search for a width ends there.
WIDEST = 2**16


@dataclass(frozen=True)
class Matched:
    """The arms' jobs as they will be run, a note for each, one for the study, and times measured, round by round."""

    jobs: tuple[Job, ...]
    notes: tuple[tuple[str, ...], ...]
    about: str
    step_seconds: tuple[tuple[float, ...], ...] = ()


def check(currency: str) -> None:
    """Refuse a currency that there is not."""
    if currency not in CURRENCIES:
        raise SpecError("unknown-word", f"--match={currency} is not one of: {', '.join(CURRENCIES)}")


def match(
    currency: str,
    names: Sequence[str],
    jobs: Sequence[Job],
    varied: Sequence[str],
    progress: Callable[[float, str], None] = lambda share, what: None,
) -> Matched:
    """The jobs made equal to the first in a currency."""
    check(currency)
    matched = _matched(currency, names, jobs, varied, progress)
    _refuse_equal(currency, names, matched.jobs)
    return matched


def _matched(
    currency: str,
    names: Sequence[str],
    jobs: Sequence[Job],
    varied: Sequence[str],
    progress: Callable[[float, str], None],
) -> Matched:
    if currency == "steps":
        return Matched(tuple(jobs), tuple(() for _ in jobs), _as_they_are(jobs))
    if currency == "parameters":
        return _by_parameters(names, jobs, varied)
    if undone := [field for field in varied if field in SET_BY_STEPS]:
        raise SpecError(
            "match-undoes-arms",
            f"--match={currency} would undo what is compared: it sets {undone[0]}, and {undone[0]} varies between the arms; "
            "use --match steps",
        )
    seconds: tuple[tuple[float, ...], ...] = ()
    if currency == "tokens":
        costs = [float(job.task.batch_tokens(job.spec.training.batch)) for job in jobs]
    elif currency == "flops":
        costs = [float(flops_of_a_step(job)) for job in jobs]
    else:
        seconds = measure(names, jobs, progress)
        costs = [statistics.median(rounds) for rounds in seconds]
    noun = {"tokens": "tokens", "flops": "training FLOPs", "time": "time in training steps"}[currency]
    made, notes = [], []
    for name, job, cost in zip(names, jobs, costs, strict=True):
        if cost <= 0:
            raise SpecError(
                "cannot-match", f"arm {name!r} costs no {noun}, so it cannot be matched by them; use another --match"
            )
        steps, note = _steps(currency, name, names[0], job, jobs[0].steps * costs[0] / cost)
        made.append(_with_steps(job, steps, jobs[0]))
        notes.append(note)
    about = (
        f"matched by {noun}: every arm gets as much as {names[0]}; schedules stretch with the steps, and evaluation.every "
        "changes in proportion"
    )
    if currency == "time":
        about += f"; a step of each arm was timed alone, in {ROUNDS} rounds over all arms, the first step left out"
    if any(job.spec.training.patience for job in made):
        about += "; a run that training.patience ends early gets less"
    return Matched(tuple(made), tuple(notes), about, seconds)


def flops_of_a_step(job: Job) -> int:
    """FLOPs of one training step, as a plan counts them."""
    forward = _blank(job, job.spec.model).flops(job.spec.data.context)  # type: ignore[operator]
    return parameter_counts.training_flops(forward) * job.spec.training.batch


def parameters(job: Job, model: ModelSpec) -> int:
    """How many parameters a model would have with this job's vocabulary."""
    return parameter_counts.parameters(_blank(job, model))


def measure(
    names: Sequence[str], jobs: Sequence[Job], progress: Callable[[float, str], None] = lambda share, what: None
) -> tuple[tuple[float, ...], ...]:
    """Seconds of a step of each arm alone: the medians of several rounds, in each of which every arm has its turn."""
    found: list[list[float]] = [[] for _ in jobs]
    for turn in range(ROUNDS):
        for place, job in enumerate(jobs):
            progress((turn * len(jobs) + place) / (ROUNDS * len(jobs)), f"timing {names[place]}")
            with devices.threads(job.spec.training.threads):
                # Made anew in each round, so that the device need not have room for all arms at once.
                found[place].append(cost_plan.step_seconds(cost_plan.trial(job).engine(), job.device))
    return tuple(map(tuple, found))


def _blank(job: Job, model: ModelSpec) -> torch.nn.Module:
    """A model without numbers."""
    with torch.device("meta"):
        return models.assemble(model, job.prepared.tokenizer.vocabulary, job.spec.data.context)


def _as_they_are(jobs: Sequence[Job]) -> str:
    steps = {job.steps for job in jobs}
    if len(steps) == 1:
        early = ", or fewer where training.patience ends a run early"
        patient = any(job.spec.training.patience for job in jobs)
        return f"matched by steps: every arm takes {jobs[0].steps:,}{early if patient else ''}"
    return f"steps are as the specs have them, {min(steps):,} to {max(steps):,}: the arms are not matched"


def _refuse_equal(currency: str, names: Sequence[str], jobs: Sequence[Job]) -> None:
    """Raise where two arms would be one and the same run, however their specs say it."""
    known: dict[Spec, str] = {}
    for name, job in zip(names, jobs, strict=True):
        training = replace(job.spec.training, steps=job.steps, epochs=0.0)
        evaluation = replace(job.spec.evaluation, every=min(job.spec.evaluation.every, job.steps))
        spec = replace(job.spec, training=training, evaluation=evaluation)
        if spec in known:
            raise SpecError(
                "same-arm",
                f"the arms {known[spec]!r} and {name!r} are the same run once they are matched (--match={currency}), "
                "so there is nothing to compare; leave one of them out, or use another --match",
            )
        known[spec] = name


def _steps(currency: str, name: str, first: str, job: Job, exact: float) -> tuple[int, tuple[str, ...]]:
    """How many steps an arm takes in place of its own, and what to say of it."""
    steps = max(round(exact), 1)
    residue = steps / exact - 1
    if abs(residue) > WORST:
        raise SpecError(
            "cannot-match",
            f"arm {name!r} would need {exact:.2g} steps for the {currency} of {first!r}, and the nearest whole number is "
            f"{residue:+.0%} away; give the first arm more training.steps, or use another --match",
        )
    if steps == job.steps:
        return steps, ()
    # What rounding leaves is said where a table would show it.
    off = f" ({residue:+.1%})" if abs(residue) >= 0.001 else ""
    return steps, (f"{steps:,} steps instead of {job.steps:,}, for the {currency} of {first}{off}",)


def _with_steps(job: Job, steps: int, first: Job) -> Job:
    """The job with another number of steps, measured as often on the way as the first."""
    if steps == job.steps and steps == first.steps:
        return job
    spec = job.spec
    every = max(round(first.spec.evaluation.every * steps / first.steps), 1)
    training = replace(spec.training, steps=steps, epochs=0.0)
    evaluation = replace(spec.evaluation, every=min(every, steps))
    return replace(job, spec=replace(spec, training=training, evaluation=evaluation), steps=steps)


def _by_parameters(names: Sequence[str], jobs: Sequence[Job], varied: Sequence[str]) -> Matched:
    if "model.width" in varied:
        raise SpecError(
            "match-undoes-arms",
            "--match=parameters changes model.width, and model.width is what varies here; use --match steps, flops or time",
        )
    goal = parameters(jobs[0], jobs[0].spec.model)
    made: list[Job] = [jobs[0]]
    notes: list[tuple[str, ...]] = [()]
    for name, job in zip(names[1:], jobs[1:], strict=True):
        spec, note = _widened(name, names[0], job, goal)
        made.append(replace(job, spec=spec))
        notes.append(note)
    about = f"matched by parameters: widths are changed to come near the {goal:,} of {names[0]}; {_as_they_are(jobs)}"
    return Matched(tuple(made), tuple(notes), about)


def _widened(name: str, first: str, job: Job, goal: int) -> tuple[Spec, tuple[str, ...]]:
    """The spec with the width whose parameters come nearest to a goal, and what to say of it."""
    own = job.spec.model
    there = parameters(job, own)
    candidates = {own.width: there}
    if there != goal:
        if job.spec.training.start_from:
            raise SpecError(
                "cannot-match",
                f"arm {name!r} starts from another run, which fixes its width, so it cannot be matched by parameters; "
                "use --match steps, flops or time",
            )
        candidates |= _near(job, goal)
    width = min(candidates, key=lambda each: (abs(candidates[each] - goal), abs(each - own.width)))
    residue = candidates[width] / goal - 1
    if abs(residue) > WORST:
        raise SpecError(
            "cannot-match",
            f"arm {name!r} comes no nearer to the {goal:,} parameters of {first!r} than {candidates[width]:,} "
            f"({residue:+.0%}, at model.width={width}); use a wider model, fewer model.heads, or another --match",
        )
    parts = [f"width {width} instead of {own.width}"] if width != own.width else []
    if candidates[width] != goal:
        parts.append(f"{candidates[width]:,} parameters, {residue:+.1%} against {first}")
    return replace(job.spec, model=_of_width(own, width)), (": ".join(parts),) if parts else ()


def _near(job: Job, goal: int) -> dict[int, int]:
    """Widths that the model can have and their parameters: the nearest below the goal and the nearest above it."""
    own = job.spec.model
    step = 1 if own.head_width else own.heads
    high = WIDEST // step
    counted: dict[int, int | None] = {}

    def count(multiple: int) -> int | None:
        if multiple not in counted:
            counted[multiple] = _possible(job, _of_width(own, multiple * step))
        return counted[multiple]

    def nearest(multiple: int, direction: int) -> tuple[int, int] | None:
        """The first width from here on that the parts allow (some want even heads), with its parameters."""
        while 0 < multiple <= high:
            if (found := count(multiple)) is not None:
                return multiple, found
            multiple += direction
        return None

    bottom, top = 1, max(own.width // step, 1)
    while top < high and ((found := nearest(top, +1)) is None or found[1] < goal):
        top = min(2 * top, high)
    while bottom < top:  # the least multiple with as many parameters as the goal; more width always means more of them
        middle = (bottom + top) // 2
        found = nearest(middle, +1)
        if found and found[1] < goal:
            bottom = max(found[0], middle) + 1
        else:
            top = middle
    both = [nearest(bottom, +1), nearest(bottom - 1, -1)]
    return {multiple * step: found for multiple, found in filter(None, both)}


def _of_width(own: ModelSpec, width: int) -> ModelSpec:
    """The model at another width, its feed-forward part in proportion where its size was given."""
    inner = max(round(own.feed_forward * width / own.width), 1) if own.feed_forward else 0
    return replace(own, width=width, feed_forward=inner)


def _possible(job: Job, model: ModelSpec) -> int | None:
    try:
        models.check(model, job.spec.data.context)
        return parameters(job, model)
    except SpecError:
        return None
