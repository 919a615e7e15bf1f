"""A description of this machine: processor, memory, accelerator, software versions. Measures no speed."""

import os
import platform
import sys
from pathlib import Path


def describe(device: str = "cpu") -> dict[str, str]:
    """The description that a run records. CUDA is queried only if it is the device."""
    import torch

    facts = {
        "processor": _processor(),
        "cores": str(cores()),
        "memory": f"{memory() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "device": device,
        "threads": str(torch.get_num_threads()),
    }
    if device.startswith("cuda"):
        facts["accelerator"] = torch.cuda.get_device_name(device)
        facts["cuda"] = str(torch.version.cuda)
    return facts


def cores() -> int:
    """The number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Main memory of the machine in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def available_memory() -> int:
    """Main memory in bytes that could be allocated without swapping; all of it if the system does not report that."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return memory()


def resident_memory() -> int:
    """Resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
