"""The rule that decides whether seeds train together as replicas or one after another.

It follows from the device and the FLOPs of a step alone. It reads no clock, so the same command chooses the same on a busy
and on an idle machine.
"""

import torch

from glasshouse.formatting import flops as flops_text

# Replicas share the overhead of every operator, and lose the fused attention. So they gain in small steps and large groups.
# On one core of an ARM processor (Neoverse N1) in fp32, the speed of a replica relative to a run alone was, in groups of 4
# and of 8: 1.5 and 2.3 at 5 MFLOP, 1.4 and 2.0 at 17, 1.1 and 1.3 at 23, 1.3 and 1.9 at 34, 0.9 and 1.1 at 71, 0.8 and 0.9
# at 512. In groups of 2 it was 0.9 or less.
FEWEST = 4
CPU_FLOPS = 4e7
# One H200, fp32, CUDA graphs (docs/replicas.md): a step of 1.75 GFLOP took 0.97 ms alone, 0.34 ms a replica in a group of 8,
# and 0.11 ms in a group of 512, which is 16 TFLOP/s. At that rate 16 GFLOP take as long as the step alone, which is mostly
# overhead. Larger steps were not timed.
CUDA_FLOPS = 1.6e10
LIMITS = {"cpu": CPU_FLOPS, "cuda": CUDA_FLOPS}


def trains_together(device: torch.device, flops: float) -> tuple[bool, str]:
    """(whether seeds train together, reason) for steps of so many FLOPs of one run, and groups of `FEWEST` or more."""
    limit = LIMITS.get(device.type)
    if limit is None:
        return False, f"replicas were never timed on {device.type}"
    return flops <= limit, f"a step has {flops_text(flops)}, replicas up to {flops_text(limit)}"


def rule_text(device: torch.device) -> str:
    """The rule for a device, for steps of any size."""
    limit = LIMITS.get(device.type)
    if limit is None:
        return "one after another"
    return f"groups of {FEWEST} or more together for steps up to {flops_text(limit)}, else one after another"
