"""The device to compute on. If it is the CPU, neither this module nor any other initialises CUDA."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from glasshouse.records import machine
from glasshouse.specs.errors import GlasshouseError, SpecError

# So many threads are allowed on every machine: a run may come from a larger one.
MANY_THREADS = 64
DEVICES = ("auto", "cpu", "cuda", "mps")


def pick(name: str) -> torch.device:
    """The device with this name; `auto` picks an accelerator if there is one."""
    if not isinstance(name, str) or name.split(":")[0] not in DEVICES or name.startswith("auto:"):
        raise GlasshouseError(f"is not one of: {', '.join(DEVICES)}", "device", name)
    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        elif torch.backends.mps.is_available():
            name = "mps"
        else:
            name = "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise GlasshouseError("is impossible: torch finds no CUDA device; use --device cpu or auto", "device", name)
    if name == "mps" and not torch.backends.mps.is_available():
        raise GlasshouseError("is impossible: torch finds no Apple GPU; use --device cpu or auto", "device", "mps")
    try:
        return torch.device(name)
    except RuntimeError:
        raise GlasshouseError("is not a device; write for example cuda:0", "device", name) from None


def check_threads(count: int) -> None:
    """Refuse far more threads than this machine has cores, which would mostly wait for each other."""
    most = max(MANY_THREADS, 4 * (os.cpu_count() or 1))
    if count > most:
        raise SpecError(
            f"is far more than the {os.cpu_count()} cores of this machine; choose {most} or less, or 0 to have the "
            "number chosen",
            "training.threads",
            count,
        )


def memory(device: torch.device) -> int:
    """The total memory of the device in bytes, free or not."""
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
