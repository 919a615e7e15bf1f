"""How many runs take their steps as one program: as many as fit, where that is faster than one after another."""

from collections.abc import Sequence

import torch

from glasshouse.specs.errors import SpecError
from glasshouse.training import cost_plan, devices, peak_memory, replicas
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas

# Replicas that are tried; more of them gain on a GPU and neither gain nor lose much on a CPU.
TRIED = 8
# Share of a device's memory that replicas may be predicted to need.
FILL = 0.8
CANNOT = "these runs cannot be replicas: {}; train them one after another (replicas off)"


def size(jobs: Sequence[Job], together: bool | None) -> tuple[int, str]:
    """(how many side by side, why). `together` insists on all or on one; None lets what is measured decide."""
    if together is False or len(jobs) == 1:
        return 1, ""
    if why := replicas.obstacle(jobs[0].spec):
        if together:
            raise SpecError("cannot-be-replicas", CANNOT.format(why))
        return 1, f"one after another: {why}"
    most = room(jobs[0], needed(jobs[0]))
    count = min(len(jobs), most)
    # Where there is not room for twice as many, what each needs is measured too: kernels hold what shapes do not tell.
    near = jobs[0].device.type == "cuda" and 2 * len(jobs) > most
    if together and not near:
        return count, ""
    tried = [cost_plan.trial(job) for job in jobs[: min(TRIED, most)]]
    with devices.threads(jobs[0].spec.training.threads):
        alone = cost_plan.step_seconds(tried[0].engine(), jobs[0].device)
        try:
            side_by_side, held = _side_by_side(tried)
        except torch.OutOfMemoryError:
            return 1, f"one after another: {len(tried)} side by side need more memory than there is"
        except (RuntimeError, NotImplementedError) as error:
            # A part that torch cannot carry over replicas; the runs themselves are none the worse.
            why = f"torch cannot carry this model over replicas ({str(error).splitlines()[0]})"
            if together:
                raise SpecError("cannot-be-replicas", CANNOT.format(why)) from None
            return 1, f"one after another: {why}"
    if near:
        count = min(count, room(jobs[0], held))
    if together:
        return count, ""
    figures = f"measured {side_by_side * 1e3:.1f} ms a step and replica, and {alone * 1e3:.1f} ms alone"
    if side_by_side < alone:
        return count, f"{count} replicas side by side: {figures}"
    return 1, f"one after another: {figures}"


def _side_by_side(jobs: Sequence[Job]) -> tuple[float, int]:
    """Of a few replicas, for each of them: seconds of a step, and bytes at the peak where the device counts them."""
    device = jobs[0].device
    peak_memory.reset(device)
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    seconds = cost_plan.step_seconds(Replicas(jobs), device)
    return seconds / len(jobs), (peak_memory.bytes_since_reset(device) - before) // len(jobs)


def needed(job: Job) -> int:
    """Bytes that one replica of a job is predicted to need."""
    purposes = cost_plan.memory(job, job.spec.training.precision, plain=True)
    # A replica's gradients exist twice while they are clipped, and so do its weights while they move.
    return sum(purposes.values()) + purposes["gradients"] + purposes["weights"]


def room(job: Job, each: int) -> int:
    """How many replicas the device has room for, at least one, by what each needs."""
    return max(int(cost_plan.memory_there(job.device) * FILL / each), 1)
