"""How many runs train together as one program: as many as fit into memory, if the rule is for it.

The rule follows from the device and the FLOPs of a step alone. No clock is read here. So the same command on the same
machine chooses the same, however busy the machine is.
"""

from collections.abc import Sequence

import torch

from glasshouse.formatting import flops as flops_text
from glasshouse.specs.errors import SpecError
from glasshouse.training import cost_plan, devices, replicas
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas

# How many replicas take how many steps to measure their memory. The third step of a shape is recorded as a CUDA graph.
MEASURED_REPLICAS, MEASURED_STEPS = 8, 20
# The share of a device's free memory that replicas may use, by prediction.
MEMORY_SHARE = 0.8
# Replicas share the overhead of every operator, and lose the fused attention. So they gain in small steps and large groups.
# On one core of an ARM processor (Neoverse N1) in fp32, the speed of a replica relative to a run alone was, in groups of 4
# and of 8: 1.5 and 2.3 at 5 MFLOP, 1.4 and 2.0 at 17, 1.1 and 1.3 at 23, 1.3 and 1.9 at 34, 0.9 and 1.1 at 71, 0.8 and 0.9
# at 512. In groups of 2 it was 0.9 or less.
FEWEST = 4
# One H200, fp32, CUDA graphs (docs/replicas.md): a step of 1.75 GFLOP took 0.97 ms alone, 0.34 ms a replica in a group of 8,
# and 0.11 ms in a group of 512, which is 16 TFLOP/s. At that rate 16 GFLOP take as long as the step alone, which is mostly
# overhead. Larger steps were not timed. These are the largest FLOPs of a step, by device.
LIMITS = {"cpu": 4e7, "cuda": 1.6e10}
TOO_LARGE = "one after another: several need more memory than the device has"


def choose(jobs: Sequence[Job], together: bool | None) -> tuple[int, str]:
    """(number of replicas, reason). `together` forces (True) or forbids them; None: by rule."""
    if together is False or len(jobs) == 1:
        return 1, ""
    reason = replicas.obstacle(jobs[0].spec) or ""
    if reason:
        return _refuse(reason, together)
    limit = max_replicas(jobs[0], predicted_memory(jobs[0]))
    count = min(len(jobs), limit)
    if count == 1:
        return 1, "" if together else TOO_LARGE
    if together is None:
        # The texts of the first batches differ between seeds. All seeds get the choice of one.
        is_faster, reason = trains_together_by_rule(jobs[0].device, jobs[0].with_training(seed=0).step_flops(), count)
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
        raise SpecError(f"these runs cannot be replicas: {reason}; train them one after another (replicas off)")
    return 1, f"one after another: {reason}"


def _measured_memory(jobs: Sequence[Job], steps: int) -> int:
    """The peak memory of each of a few replicas over some steps, in bytes; 0 on a device that does not count it."""
    device = jobs[0].device
    devices.reset_peak_memory(device)
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else 0
    with devices.threads(jobs[0].spec.training.threads):
        group = Replicas(jobs)
        for step in range(steps):
            group.step(step % group.steps)
        devices.synchronise(device)
    return (devices.peak_memory(device) - before) // len(jobs)


def predicted_memory(job: Job) -> int:
    """The predicted memory of one replica of a job in bytes."""
    purposes = cost_plan.training_memory(job, job.spec.training.precision, of_replica=True)
    # Gradients are copied while they are clipped, and weights while they are updated.
    return sum(purposes.values()) + purposes["gradients"] + purposes["weights"]


def max_replicas(job: Job, replica_memory: int) -> int:
    """The number of replicas that fit into the device's free memory; at least one."""
    return max(int(cost_plan.free_memory(job.device) * MEMORY_SHARE / replica_memory), 1)


def trains_together_by_rule(device: torch.device, flops: float, count: int) -> tuple[bool, str]:
    """(whether so many runs train together, reason) for steps of so many FLOPs of one run."""
    if count < FEWEST:
        return False, f"by rule ({count} runs, replicas from {FEWEST} on)"
    limit = LIMITS.get(device.type)
    if limit is None:
        return False, f"by rule (replicas were never timed on {device.type})"
    return flops <= limit, f"by rule (a step has {flops_text(flops)}, replicas up to {flops_text(limit)})"


def rule_text(device: torch.device) -> str:
    """The rule for a device, for steps of any size."""
    limit = LIMITS.get(device.type)
    if limit is None:
        return "one after another"
    return f"groups of {FEWEST} or more together for steps up to {flops_text(limit)}, else one after another"
