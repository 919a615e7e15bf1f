"""The time of training steps of several arms, compared fairly on a machine that is never quite idle. Knows no claim.

A machine becomes slower and faster over seconds, so many short rounds compare arms better than a few long ones. All arms are
timed in every round, each alone. Every other round reverses their order, so that a drift favours no arm. Where a model lies
in memory changes its speed too, so the models can be built anew several times.
"""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from glasshouse.records import progress_bar
from glasshouse.studies import arms
from glasshouse.training import cost_plan, devices
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job

# The name under which the first arm is timed a second time.
AGAIN = "the first arm again"
# Rounds of each build that do not count. A CUDA graph is recorded after a few steps of each shape of batch.
WARM_UP_ROUNDS = 3
QUICK_ROUNDS = 2


@dataclass(frozen=True)
class Timing:
    """How steps are timed."""

    rounds: int = 20  # of each build; every arm is timed once in each round
    steps: int = 20  # the most steps of an arm in a round; their median counts
    builds: int = 1  # how often all models are built anew
    again: bool = False  # an A/A control: a copy of the first arm, named AGAIN, must take the same time

    @property
    def quick(self) -> "Timing":
        """The same for a quick run."""
        return replace(self, rounds=QUICK_ROUNDS, builds=min(self.builds, QUICK_ROUNDS))


def time_steps(words: Sequence[str], timing: Timing, device: str, title: str) -> dict[str, list[float]]:
    """Arm -> seconds per training step in each round. The rounds of the first build come first."""
    with progress_bar.bar(f"timing {title}", outer=True) as show, progress_bar.quiet():
        jobs = {variant.name: Job.prepare(variant.spec, devices.pick(device)) for variant in arms.expand(arms.parse(words))}
        first = next(iter(jobs))
        plan = cost_plan.make(jobs[first])
        jobs = {arm: _timing_job(job, plan) for arm, job in jobs.items()}
        if timing.again:
            jobs[AGAIN] = jobs[first]
        names, seconds = list(jobs), {arm: list[float]() for arm in jobs}
        for build in range(timing.builds):
            # Each build begins with another arm, so that none is always the first in memory.
            order = [*names[build % len(names) :], *names[: build % len(names)]]
            engines = {arm: jobs[arm].engine() for arm in order}
            for round_number in range(-WARM_UP_ROUNDS, timing.rounds):
                for arm in order if round_number % 2 == 0 else reversed(order):
                    with devices.threads(plan.threads):
                        measured = _median_step_seconds(engines[arm], timing.steps)
                    if round_number >= 0:
                        seconds[arm].append(measured)
                show((build + max(round_number + 1, 0) / timing.rounds) / timing.builds)
    return seconds


def build_medians(rounds: Sequence[float], builds: int) -> list[float]:
    """The median over the rounds of each build. `rounds` are in the order of `time_steps`."""
    size = len(rounds) // builds
    return [statistics.median(rounds[build * size : (build + 1) * size]) for build in range(builds)]


def _timing_job(job: Job, plan: cost_plan.Plan) -> Job:
    """The job to time, with the precision and threads that were planned for the first arm."""
    training = replace(job.spec.training, precision=plan.precision, threads=plan.threads)
    return cost_plan.timing_job(replace(job, spec=replace(job.spec, training=training)))


def _median_step_seconds(engine: Engine, steps: int) -> float:
    """The median time of a few steps. The first does not count, because other arms were in the caches before it.

    Slow steps are cut short as in a cost plan.
    """
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 2 or (len(times) <= steps and time.perf_counter() - begin < cost_plan.TIMING_SECONDS):
        devices.synchronise(engine.device)
        start = time.perf_counter()
        engine.step(len(times) % engine.steps)
        devices.synchronise(engine.device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])
