"""Number formats for training: float32, or bfloat16 products over float32 weights; and which to use, by measuring."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from glasshouse.training.matmul_speed import matrix_rate

# bfloat16 must be this much faster to be chosen: it is the coarser format.
WORTH = 1.15
# Side of the matrices whose rates are compared first: a CPU without bfloat16 instructions multiplies them hundreds of
# times more slowly than float32, and a whole step would take minutes there.
PROBE = 256


def context(precision: str, device: torch.device) -> AbstractContextManager:
    """The context that forward passes run in."""
    if precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    if device.type == "cuda":
        # Matrix products are float32 by default there; cuDNN's (pictures, recurrent cells) would be a coarser format.
        return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    return nullcontext()


def choose(device: torch.device, time_step: Callable[[str], float]) -> tuple[str, str]:
    """(precision, why): first by the rate of small matrix products, then by the seconds of a step in each format."""
    single, half = (matrix_rate(device, name, PROBE, seconds=0.1) for name in ("fp32", "bf16"))
    if half < single:
        ratio = f"{single / half:.1f} times as fast as in bf16" if half else "possible, in bf16 not"
        return "fp32", f"fp32: small matrix products are {ratio}"
    slow, fast = time_step("fp32"), time_step("bf16")
    name = "bf16" if slow > WORTH * fast else "fp32"
    return name, f"{name}: measured {slow * 1e3:.1f} ms a step in fp32 and {fast * 1e3:.1f} ms in bf16"
