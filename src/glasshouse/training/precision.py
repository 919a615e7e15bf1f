"""Number formats for training: float32, or bfloat16 products over float32 weights; and which to use, by measuring."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

# bfloat16 must be this much faster to be chosen: it is the coarser format.
WORTH = 1.15
# Below this width bfloat16 was slower on every CPU tried, so the trial is skipped there.
CPU_TRIAL_WIDTH = 256


def context(precision: str, device: torch.device) -> AbstractContextManager:
    """The context that forward passes run in."""
    if precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


def choose(device: torch.device, width: int, time_step: Callable[[str], float]) -> tuple[str, str]:
    """(precision, why), from the seconds that `time_step` measures for a step in each."""
    if device.type == "cpu" and width < CPU_TRIAL_WIDTH:
        return "fp32", f"fp32: on a CPU bf16 does not pay below width {CPU_TRIAL_WIDTH}"
    if device.type == "cuda" and not torch.cuda.is_bf16_supported():
        return "fp32", "fp32: this GPU has no bfloat16"
    single, half = time_step("fp32"), time_step("bf16")
    name = "bf16" if single > WORTH * half else "fp32"
    return name, f"{name}: measured {single * 1e3:.1f} ms a step in fp32 and {half * 1e3:.1f} ms in bf16"
