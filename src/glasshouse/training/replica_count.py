"""How many runs train together as one program: as many as fit into memory, if that is faster than one after another."""

from collections.abc import Sequence

import torch

from glasshouse.specs.errors import SpecError
from glasshouse.training import cost_plan, devices, peak_memory, replicas
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas

# The number of replicas that are timed. More replicas are faster on a GPU and about as fast on a CPU.
TIMED_REPLICAS = 8
# The share of a device's free memory that replicas may use, by prediction.
MEMORY_SHARE = 0.8
CANNOT_BE_REPLICAS = "these runs cannot be replicas: {}; train them one after another (replicas off)"


def choose(jobs: Sequence[Job], together: bool | None) -> tuple[int, str]:
    """(number of replicas, reason). `together` forces replicas (True) or single runs (False); None times both."""
    if together is False or len(jobs) == 1:
        return 1, ""
    if reason := replicas.obstacle(jobs[0].spec):
        if together:
            raise SpecError("cannot-be-replicas", CANNOT_BE_REPLICAS.format(reason))
        return 1, f"one after another: {reason}"
    limit = max_replicas(jobs[0], predicted_memory(jobs[0]))
    count = min(len(jobs), limit)
    # Near the limit the memory is measured too: kernels allocate workspaces that shapes alone do not predict.
    near_limit = jobs[0].device.type == "cuda" and 2 * len(jobs) > limit
    if together and not near_limit:
        return count, ""
    timing_jobs = [cost_plan.timing_job(job) for job in jobs[: min(TIMED_REPLICAS, limit)]]
    with devices.threads(jobs[0].spec.training.threads):
        single_seconds = cost_plan.step_seconds(timing_jobs[0].engine(), jobs[0].device)
        try:
            replica_seconds, replica_memory = _measure_replicas(timing_jobs)
        except torch.OutOfMemoryError:
            return 1, f"one after another: {len(timing_jobs)} replicas need more memory than the device has"
        except (RuntimeError, NotImplementedError) as error:
            # torch.func.vmap does not support some operation of the model. Single runs still work.
            reason = f"torch cannot vectorise this model over replicas ({str(error).splitlines()[0]})"
            if together:
                raise SpecError("cannot-be-replicas", CANNOT_BE_REPLICAS.format(reason)) from None
            return 1, f"one after another: {reason}"
    if near_limit:
        count = min(count, max_replicas(jobs[0], replica_memory))
    if together:
        return count, ""
    timings = f"measured {replica_seconds * 1e3:.1f} ms per step and replica, and {single_seconds * 1e3:.1f} ms alone"
    if replica_seconds < single_seconds:
        return count, f"{count} replicas together: {timings}"
    return 1, f"one after another: {timings}"


def _measure_replicas(jobs: Sequence[Job]) -> tuple[float, int]:
    """(seconds per step, peak memory in bytes) of each of a few replicas; the memory is 0 on a device that does not count
    it."""
    device = jobs[0].device
    peak_memory.reset(device)
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    seconds = cost_plan.step_seconds(Replicas(jobs), device)
    return seconds / len(jobs), (peak_memory.bytes_since_reset(device) - before) // len(jobs)


def predicted_memory(job: Job) -> int:
    """The predicted memory of one replica of a job in bytes."""
    purposes = cost_plan.training_memory(job, job.spec.training.precision, plain_attention=True)
    # Gradients are copied while they are clipped, and weights while they are updated.
    return sum(purposes.values()) + purposes["gradients"] + purposes["weights"]


def max_replicas(job: Job, replica_memory: int) -> int:
    """The number of replicas that fit into the device's free memory; at least one."""
    return max(int(cost_plan.free_memory(job.device) * MEMORY_SHARE / replica_memory), 1)
