"""Number formats for training; timings choose between them. Weights and the optimiser's state are float32 in all of them.

- `fp32`: everything in float32.
- `tf32`: float32, but NVIDIA GPUs from Ampere on round the factors of matrix products to 10 bits, which makes the products
  several times faster. Elsewhere the same as `fp32`.
- `bf16`: matrix products in bfloat16, which has 7 bits.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

import torch

from glasshouse.formatting import join_with_and
from glasshouse.training.matmul_speed import matmul_flop_rate

# The most precise first.
BY_PRECISION = ("fp32", "tf32", "bf16")
# A less precise format is chosen only if it is faster by this factor than every more precise one.
MIN_SPEEDUP = 1.15
# The compute capability from which NVIDIA GPUs have TF32 (Ampere).
TF32_CAPABILITY = (8, 0)
# Side length of the matrices in a first, quick comparison. On a CPU without bfloat16 instructions, bfloat16 is hundreds of
# times slower than float32, and timing a whole step would take minutes.
PROBE = 256
# Under autocast the weights of a norm stay in float32 on purpose. On a CPU, torch reports that at length.
warnings.filterwarnings("ignore", "Mismatch dtype between input and weight")


@contextmanager
def context(precision: str, device: torch.device) -> Iterator[None]:
    """The context that forward passes run in."""
    with ExitStack() as stack:
        stack.enter_context(float32_products(precision, device))
        if precision == "bf16":
            stack.enter_context(torch.autocast(device.type, dtype=torch.bfloat16))
        yield


def float32_products(precision: str, device: torch.device) -> AbstractContextManager[None]:
    """The context in which CUDA computes products of float32 matrices as the format says, in backward passes too."""
    return _cuda_products(tf32=precision == "tf32") if device.type == "cuda" else nullcontext()


@contextmanager
def _cuda_products(tf32: bool) -> Iterator[None]:
    matmul = torch.backends.cuda.matmul
    before, matmul.allow_tf32 = matmul.allow_tf32, tf32
    try:
        # cuDNN (convolutions, recurrent cells) would use TF32 by default.
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=tf32):
            yield
    finally:
        matmul.allow_tf32 = before


def is_unsupported(error: RuntimeError) -> bool:
    """Whether torch lacks a bfloat16 kernel for the instruction set, for example with ATEN_CPU_CAPABILITY=avx2."""
    return "only supported when" in str(error)


def has_tf32(device: torch.device) -> bool:
    """Whether the device has faster matrix products of this format."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= TF32_CAPABILITY


def choose(device: torch.device, time_step: Callable[[str], float]) -> tuple[str, str]:
    """(precision, reason): first by the speed of small matrix products, then by the time of a step in each format."""
    fp32_rate, bf16_rate = (matmul_flop_rate(device, name, PROBE, seconds=0.1) for name in ("fp32", "bf16"))
    if bf16_rate < fp32_rate:
        ratio = f"{fp32_rate / bf16_rate:.1f} times as fast as in bf16" if bf16_rate else "possible, but not in bf16"
        return "fp32", f"fp32: small matrix products are {ratio}"
    seconds: dict[str, float] = {}
    for name in BY_PRECISION:
        if name == "tf32" and not has_tf32(device):
            continue
        try:
            seconds[name] = time_step(name)
        except RuntimeError as error:
            if name == "fp32" or not is_unsupported(error):
                raise
            return "fp32", f"fp32: this machine cannot compute a step in {name} ({error})"
    chosen = "fp32"
    for name in seconds:
        if seconds[chosen] > MIN_SPEEDUP * seconds[name]:
            chosen = name
    timings = join_with_and([f"{time * 1e3:.1f} ms per step in {name}" for name, time in seconds.items()])
    return chosen, f"{chosen}: measured {timings}"
