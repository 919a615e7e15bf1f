"""A description of this machine: processor, memory, accelerator, software versions. Measures no speed."""

import math
import os
import platform
import sys
from functools import cache
from pathlib import Path

ROOT = Path("/")


def describe(device: str = "cpu") -> dict[str, str]:
    """The description that a run records. CUDA is queried only if it is the device."""
    import torch

    facts = {
        "processor": processor(),
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


def physical_cores(root: Path = ROOT) -> int:
    """The number of physical cores that this process may keep busy: without hyper-threads, and within its CPU quota."""
    logical = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = {_siblings(number, root) for number in logical}
    return max(math.floor(min(len(siblings), cpu_quota(root))), 1)


def _siblings(number: int, root: Path) -> str:
    """The logical processors of a physical core, as the system lists them."""
    try:
        return (root / f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(number)


def cpu_quota(root: Path = ROOT) -> float:
    """How many processors' time the control groups of this process allow, as a container's limit does; else infinite."""
    allowed = math.inf
    try:
        paths = [line.split(":", 2)[2] for line in (root / "proc/self/cgroup").read_text().splitlines() if ":" in line]
    except OSError:
        paths = []
    for path in {"/", *paths}:
        own = Path(path.strip().lstrip("/"))
        for group in (own, *own.parents):
            allowed = min(allowed, _group_quota(root / "sys/fs/cgroup", group))
    return allowed


def _group_quota(mounted: Path, group: Path) -> float:
    """The quota of one control group of either version."""
    try:
        quota, period = (mounted / group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            folder = mounted / "cpu" / group
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        except OSError:
            return math.inf
    try:
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    except (ValueError, ZeroDivisionError):  # "max"
        return math.inf


@cache
def instructions(root: Path = ROOT) -> frozenset[str]:
    """The instruction sets of the processor by their names in /proc/cpuinfo; none on other systems than Linux."""
    return frozenset(_cpuinfo(root, "flags", "Features").split())


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


def processor(root: Path = ROOT) -> str:
    """The model of the processor. Arm's are described by the codes of their maker and their design."""
    codes = [_cpuinfo(root, name) for name in ("CPU implementer", "CPU part")]
    described = f"{platform.machine()} (implementer {codes[0]}, part {codes[1]})" if all(codes) else ""
    return _cpuinfo(root, "model name") or described or platform.processor() or platform.machine()


def _cpuinfo(root: Path, *names: str) -> str:
    """The first value in /proc/cpuinfo under one of these names."""
    try:
        for line in (root / "proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in names:
                return value.strip()
    except OSError:
        pass
    return ""
