"""The measured speed of matrix products on a device."""

import time

import torch

from glasshouse.training import devices

FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def matmul_flop_rate(device: torch.device, precision: str, size: int, seconds: float = 0.5) -> float:
    """The highest FLOP/s of square matrix products within some seconds: an estimate of the device's peak."""
    a, b = (torch.randn(size, size, device=device).to(FORMATS[precision]) for _ in range(2))
    best = 0.0
    measurement_start = time.perf_counter()
    while time.perf_counter() - measurement_start < seconds:
        devices.synchronise(device)
        start = time.perf_counter()
        a @ b
        devices.synchronise(device)
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best
