"""What a device gives: the rate of matrix products, measured."""

import time

import torch

from glasshouse.training import devices

FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def matrix_rate(device: torch.device, precision: str, size: int, seconds: float = 0.5) -> float:
    """The best FLOP/s of square matrix products in a while: the most that the device gives."""
    a, b = (torch.randn(size, size, device=device).to(FORMATS[precision]) for _ in range(2))
    best = 0.0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        devices.synchronise(device)
        start = time.perf_counter()
        a @ b
        devices.synchronise(device)
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best
