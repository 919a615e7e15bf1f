"""The most memory a stretch of work held: the device's own count on CUDA, the process's high-water mark on Linux."""

from contextlib import suppress
from pathlib import Path

import torch

from glasshouse.records.machine import resident

_before = 0


def reset(device: torch.device) -> None:
    """Begin to count from what is held now."""
    global _before
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    _before = resident()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: set the high-water mark back to the present


def bytes_since_reset(device: torch.device) -> int:
    """Peak bytes: on CUDA all that tensors held, elsewhere the growth of the process; 0 where the system does not say."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        mark = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration, ValueError):
        return 0
    return max(mark - _before, 0)
