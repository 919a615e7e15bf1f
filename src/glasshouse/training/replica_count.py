"""How many runs train together as one program: as many as fit into memory, if a measurement or the rule is for it.

No clock is read here. So the same command on the same machine chooses the same, however busy the machine is.
"""

from collections.abc import Sequence

import torch

from glasshouse.specs.errors import SpecError
from glasshouse.training import cost_plan, devices, kept_measurements, peak_memory, replica_rule, replicas
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas

# How many replicas take how many steps to measure their memory. The third step of a shape is recorded as a CUDA graph.
MEASURED_REPLICAS, MEASURED_STEPS = 8, 20
# The share of a device's free memory that replicas may use, by prediction.
MEMORY_SHARE = 0.8
TOO_LARGE = "one after another: several need more memory than the device has"
CANNOT_BE_REPLICAS = "these runs cannot be replicas: {}; train them one after another (replicas off)"


def choose(jobs: Sequence[Job], together: bool | None) -> tuple[int, str]:
    """(number of replicas, reason). `together` forces replicas (True) or single runs (False).

    With None a kept measurement of exactly this machine and shape decides, or else the rule.
    """
    if together is False or len(jobs) == 1:
        return 1, ""
    if reason := replicas.obstacle(jobs[0].spec):
        return _refuse(reason, together)
    limit = max_replicas(jobs[0], predicted_memory(jobs[0]))
    count = min(len(jobs), limit)
    if count == 1:
        return 1, "" if together else TOO_LARGE
    reason = ""
    if together is None:
        is_faster, reason = _is_faster(jobs[0], count)
        if not is_faster:
            return 1, f"one after another: {reason}"
    # Near the limit the memory is measured: kernels allocate workspaces that shapes alone do not predict.
    near_limit = jobs[0].device.type == "cuda" and 2 * len(jobs) > limit
    tried = [cost_plan.timing_job(job) for job in jobs[: min(MEASURED_REPLICAS, limit) if near_limit else 2]]
    try:
        replica_memory = _measured_memory(tried, MEASURED_STEPS if near_limit else 1)
    except torch.OutOfMemoryError:
        return 1, TOO_LARGE
    except (RuntimeError, NotImplementedError) as error:
        # torch.func.vmap does not support some operation of the model. Single runs still work.
        return _refuse(f"torch cannot vectorise this model over replicas ({str(error).splitlines()[0]})", together)
    if near_limit:
        count = min(count, max_replicas(jobs[0], replica_memory))
    if together:
        return count, ""
    return count, TOO_LARGE if count == 1 else f"{count} replicas together: {reason}"


def _refuse(reason: str, together: bool | None) -> tuple[int, str]:
    if together:
        raise SpecError(CANNOT_BE_REPLICAS.format(reason))
    return 1, f"one after another: {reason}"


def _is_faster(job: Job, count: int) -> tuple[bool, str]:
    """(whether so many replicas are faster than single runs, where that is known from)."""
    if count < replica_rule.FEWEST:
        return False, f"by rule ({count} runs, replicas from {replica_rule.FEWEST} on)"
    training = job.spec.training
    measurement, remark = kept_measurements.find(job)
    times = measurement.replicas if measurement else None
    if measurement and times and (times.precision, times.threads) == (training.precision, training.threads):
        return times.is_faster, measurement.replica_reason(times)
    # The texts of the first batches differ between seeds. All seeds get the choice of one.
    is_faster, reason = replica_rule.trains_together(job.device, job.with_seed(0).step_flops())
    return is_faster, f"by rule ({reason})" + (f"; {remark}" if remark else "")


def _measured_memory(jobs: Sequence[Job], steps: int) -> int:
    """The peak memory of each of a few replicas over some steps, in bytes; 0 on a device that does not count it."""
    device = jobs[0].device
    peak_memory.reset(device)
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    with devices.threads(jobs[0].spec.training.threads):
        group = Replicas(jobs)
        for step in range(steps):
            group.step(step % group.steps)
        devices.synchronise(device)
    return (peak_memory.bytes_since_reset(device) - before) // len(jobs)


def predicted_memory(job: Job) -> int:
    """The predicted memory of one replica of a job in bytes."""
    purposes = cost_plan.training_memory(job, job.spec.training.precision, of_replica=True)
    # Gradients are copied while they are clipped, and weights while they are updated.
    return sum(purposes.values()) + purposes["gradients"] + purposes["weights"]


def max_replicas(job: Job, replica_memory: int) -> int:
    """The number of replicas that fit into the device's free memory; at least one."""
    return max(int(cost_plan.free_memory(job.device) * MEMORY_SHARE / replica_memory), 1)
