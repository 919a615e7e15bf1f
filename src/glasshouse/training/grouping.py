"""How many runs take their steps as one program: as many as fit, where that is faster than one after another."""

from collections.abc import Sequence

from glasshouse.specs.errors import SpecError
from glasshouse.training import devices, plan, replicas
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas

# Replicas that are tried; more of them gain on a GPU and neither gain nor lose much on a CPU.
TRIED = 8
# Share of a device's memory that replicas may be predicted to need.
FILL = 0.8


def size(jobs: Sequence[Job], together: bool | None) -> tuple[int, str]:
    """(how many side by side, why). `together` insists on all or on one; None lets what is measured decide."""
    if together is False or len(jobs) == 1:
        return 1, ""
    if why := replicas.obstacle(jobs[0].spec):
        if together:
            raise SpecError(f"these runs cannot be replicas: {why}; train them one after another (replicas off)")
        return 1, f"one after another: {why}"
    most = room(jobs[0])
    if together:
        return min(len(jobs), most), ""
    tried = [plan.trial(job) for job in jobs[: min(TRIED, most)]]
    with devices.threads(jobs[0].spec.training.threads):
        alone = plan.step_seconds(tried[0].engine(), jobs[0].device)
        try:
            side_by_side = plan.step_seconds(Replicas(tried), jobs[0].device) / len(tried)
        except (RuntimeError, NotImplementedError) as error:
            # A part that torch cannot carry over replicas; the runs themselves are none the worse.
            return 1, f"one after another: torch cannot carry this model over replicas ({str(error).splitlines()[0]})"
    figures = f"measured {side_by_side * 1e3:.1f} ms a step and replica, and {alone * 1e3:.1f} ms alone"
    if side_by_side < alone:
        count = min(len(jobs), most)
        return count, f"{count} replicas side by side: {figures}"
    return 1, f"one after another: {figures}"


def needed(job: Job) -> int:
    """Bytes that one replica of a job is predicted to need."""
    purposes = plan.memory(job, job.spec.training.precision, plain=True)
    # A replica's gradients exist twice while they are clipped, and so do its weights while they move.
    return sum(purposes.values()) + purposes["gradients"] + purposes["weights"]


def room(job: Job) -> int:
    """How many replicas the device has room for, at least one, by what each is predicted to need."""
    return max(int(plan.memory_there(job.device) * FILL / needed(job)), 1)
