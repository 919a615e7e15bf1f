"""A description of this machine: processor, memory, accelerator, software versions. Measures no speed."""

import math
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path("/")
# Where control groups are mounted.
GROUPS = "sys/fs/cgroup"


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
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def physical_cores(root: Path = ROOT) -> int:
    """The number of physical cores that this process may keep busy: without hyper-threads, and within its CPU quota."""
    logical = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    siblings = {_siblings(number, root) for number in logical}
    return max(math.floor(min(len(siblings), cpu_quota(root))), 1)


def _siblings(number: int, root: Path) -> str:
    try:
        return (root / f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(number)


def cpu_quota(root: Path = ROOT) -> float:
    """How many processors' time the control groups of this process allow, as a container's limit does; else infinite."""
    return min(_group_quota(root / GROUPS, group) for group in _groups(root))


def _groups(root: Path) -> set[Path]:
    """The control groups of this process, each with those above it, as paths below the place where they are mounted."""
    try:
        paths = [line.split(":", 2)[2] for line in (root / "proc/self/cgroup").read_text().splitlines() if ":" in line]
    except OSError:
        paths = []
    own = {Path(path.strip().lstrip("/")) for path in ("/", *paths)}
    return own | {above for group in own for above in group.parents}


def _group_quota(mounted: Path, group: Path) -> float:
    for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        folder = mounted / group if len(names) == 1 else mounted / "cpu" / group
        with suppress(OSError, ValueError, ZeroDivisionError):  # no such group, or "max"
            quota, period = (int(word) for name in names for word in (folder / name).read_text().split())
            if quota > 0:
                return quota / period
    return math.inf


@cache
def instructions(root: Path = ROOT) -> frozenset[str]:
    """The instruction sets of the processor by their names in /proc/cpuinfo; none on other systems than Linux."""
    return frozenset(_cpuinfo(root, "flags", "Features").split())


def memory(root: Path = ROOT) -> int:
    """Main memory in bytes that this process may use.

    That is the memory of the machine, or what a container, a batch job or a limit on address space leaves of it.
    """
    allowed = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), resident_memory() + _unmapped_addresses()]
    allowed += [limit for limit, _ in _group_memory(root)]
    return int(min(allowed))


def available_memory(root: Path = ROOT) -> int:
    """Main memory in bytes that this process could allocate without swapping; all of it if the system does not say."""
    available = [memory(root), _unmapped_addresses()]
    with suppress(OSError, StopIteration, ValueError):
        lines = (root / "proc/meminfo").read_text().splitlines()
        available.append(next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")))
    available += [max(limit - used, 0) for limit, used in _group_memory(root)]
    return int(min(available))


def resident_memory() -> int:
    """Resident memory of this process in bytes; 0 if the system does not report it."""
    return _process_pages(1)


def _process_pages(index: int) -> int:
    """A number of /proc/self/statm in bytes: 0 is what is mapped, 1 what is resident. 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[index]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _unmapped_addresses() -> float:
    """The bytes that this process may still map; infinite without a limit."""
    if sys.platform == "win32":
        return math.inf
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return math.inf if limit == resource.RLIM_INFINITY else max(limit - _process_pages(0), 0)


def _group_memory(root: Path) -> Iterator[tuple[int, int]]:
    """(limit, used) in bytes of the control groups of either version that limit memory."""
    for group in _groups(root):
        for folder, (limit, used, freed) in (
            (root / GROUPS / group, ("memory.max", "memory.current", "inactive_file")),
            (root / GROUPS / "memory" / group, ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")),
        ):
            with suppress(OSError, ValueError):  # no such group, or "max"
                statistics = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
                # The system takes memory from cached files if a process needs it.
                cached = next((int(number) for name, number in statistics if name == freed), 0)
                yield int((folder / limit).read_text()), int((folder / used).read_text()) - cached


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
