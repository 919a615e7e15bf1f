"""Peak memory between two calls: the allocator's count on CUDA, the process's high-water mark on Linux."""

from contextlib import suppress
from pathlib import Path

import torch

from glasshouse.records.machine import resident_memory

_before = 0


def reset(device: torch.device) -> None:
    """Start measuring from the current memory use."""
    global _before
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    _before = resident_memory()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: reset the high-water mark to the current memory use


def bytes_since_reset(device: torch.device) -> int:
    """Peak memory in bytes: of all tensors on CUDA, else the growth of the process; 0 if the system does not report it."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        high_water_mark = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration, ValueError):
        return 0
    return max(high_water_mark - _before, 0)
