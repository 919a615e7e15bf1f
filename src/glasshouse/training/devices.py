"""The device to compute on: its threads, its memory and its speed. If it is the CPU, no module initialises CUDA."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from glasshouse.records import machine
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.training import process_group

# So many threads are allowed on every machine: a run may come from a larger one.
MANY_THREADS = 64
DEVICES = ("auto", "cpu", "cuda", "mps")
MATMUL_FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16}
# The memory of this process when `reset_peak_memory` was called.
_resident_before = 0


def pick(name: str) -> torch.device:
    """The device with this name; `auto` picks an accelerator if there is one."""
    if not isinstance(name, str) or name.split(":")[0] not in DEVICES or name.startswith("auto:"):
        raise GlasshouseError(f"is not one of: {', '.join(DEVICES)}", "device", name)
    is_there: dict[str, Callable[[], bool]] = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if name == "auto":
        name = next((kind for kind in is_there if is_there[kind]()), "cpu")
    if (kind := name.split(":")[0]) in is_there and not is_there[kind]():
        what = "CUDA device" if kind == "cuda" else "Apple GPU"
        raise GlasshouseError(f"is impossible: torch finds no {what}; use --device cpu or auto", "device", name)
    try:
        return torch.device(name)
    except RuntimeError:
        raise GlasshouseError("is not a device; write for example cuda:0", "device", name) from None


def check_threads(count: int) -> None:
    """Refuse far more threads than this machine has cores, which would mostly wait for each other."""
    cores = os.cpu_count() or 1
    most = max(MANY_THREADS, 4 * cores)
    if count > most:
        raise SpecError(f"is far more than the {cores} cores here; choose {most} or less", "training.threads", count)


def available_threads() -> int:
    """The CPU threads of a process: its share of the physical cores, within torch's limit (OMP_NUM_THREADS)."""
    return max(min(machine.physical_cores() // process_group.local_size(), torch.get_num_threads()), 1)


def memory(device: torch.device) -> int:
    """The total memory of the device in bytes."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else machine.memory()


def seed(device: torch.device, number: int) -> None:
    """Seed the random numbers of a device and of the CPU.

    torch.manual_seed would also note the whole call stack for every kind of accelerator that is not used, at 0.1 ms or more.
    """
    torch.default_generator.manual_seed(number)
    if device.type == "cuda":
        torch.cuda.manual_seed_all(number)
    elif device.type == "mps":
        torch.mps.manual_seed(number)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Set the number of CPU threads within the block; 0 keeps torch's number."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def synchronise(device: torch.device) -> None:
    """Wait until the device has finished all queued work. Call it before reading a clock."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def reset_peak_memory(device: torch.device) -> None:
    """Measure the peak of memory use from now on."""
    global _resident_before
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    _resident_before = machine.resident_memory()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: reset the high-water mark to the current memory use


def peak_memory(device: torch.device) -> int:
    """Peak memory in bytes since the reset: of all tensors on CUDA, else the growth of the process; 0 if it is unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        high_water_mark = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration, ValueError):
        return 0
    return max(high_water_mark - _resident_before, 0)


def matmul_flop_rate(device: torch.device, precision: str, size: int, seconds: float = 0.5) -> float:
    """The highest FLOP/s of square matrix products within some seconds: an estimate of the device's peak."""
    a, b = (torch.randn(size, size, device=device).to(MATMUL_FORMATS[precision]) for _ in range(2))
    best = 0.0
    measurement_start = time.perf_counter()
    while time.perf_counter() - measurement_start < seconds:
        synchronise(device)
        start = time.perf_counter()
        a @ b
        synchronise(device)
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
    return best
