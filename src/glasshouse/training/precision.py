"""Number formats for training: float32, or bfloat16 matrix products with float32 weights. Timings choose between them."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from glasshouse.training.matmul_speed import matmul_flop_rate

# bfloat16 is chosen only if it is faster by this factor, because it is the less precise format.
MIN_SPEEDUP = 1.15
# Side length of the matrices in a first, quick comparison. On a CPU without bfloat16 instructions, bfloat16 is hundreds of
# times slower than float32, and timing a whole step would take minutes.
PROBE = 256
# Under autocast the weights of a norm stay in float32 on purpose. On a CPU, torch reports that at length.
warnings.filterwarnings("ignore", "Mismatch dtype between input and weight")


def context(precision: str, device: torch.device) -> AbstractContextManager:
    """The context that forward passes run in."""
    if precision == "bf16":
        return torch.autocast(device.type, dtype=torch.bfloat16)
    if device.type == "cuda":
        # torch's matrix products are in float32 by default, but cuDNN (convolutions, recurrent cells) would use TF32.
        return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    return nullcontext()


def is_unsupported(error: RuntimeError) -> bool:
    """Whether torch lacks a bfloat16 kernel for the instruction set, for example with ATEN_CPU_CAPABILITY=avx2."""
    return "only supported when" in str(error)


def choose(device: torch.device, time_step: Callable[[str], float]) -> tuple[str, str]:
    """(precision, reason): first by the speed of small matrix products, then by the time of a step in each format."""
    fp32_rate, bf16_rate = (matmul_flop_rate(device, name, PROBE, seconds=0.1) for name in ("fp32", "bf16"))
    if bf16_rate < fp32_rate:
        ratio = f"{fp32_rate / bf16_rate:.1f} times as fast as in bf16" if bf16_rate else "possible, but not in bf16"
        return "fp32", f"fp32: small matrix products are {ratio}"
    fp32_seconds = time_step("fp32")
    try:
        bf16_seconds = time_step("bf16")
    except RuntimeError as error:
        if not is_unsupported(error):
            raise
        return "fp32", f"fp32: this machine cannot compute a step in bf16 ({error})"
    name = "bf16" if fp32_seconds > MIN_SPEEDUP * bf16_seconds else "fp32"
    timings = f"measured {fp32_seconds * 1e3:.1f} ms per step in fp32 and {bf16_seconds * 1e3:.1f} ms in bf16"
    return name, f"{name}: {timings}"
