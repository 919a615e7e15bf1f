"""The description of the machine: cores, CPU quotas and instruction sets, as Linux reports them."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from glasshouse.records import machine

GROUP = "sys/fs/cgroup"


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_two_hyper_threads_are_one_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert machine.physical_cores(tmp_path) == 4, "a system that does not list siblings"
    for number in range(4):
        siblings = f"{number % 2},{number % 2 + 2}\n"
        write(tmp_path, f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list", siblings)
    assert machine.physical_cores(tmp_path) == 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2}, raising=False)
    assert machine.physical_cores(tmp_path) == 1


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, math.inf),
        ({f"{GROUP}/cpu.max": "max 100000\n"}, math.inf),
        ({f"{GROUP}/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/jobs/one\n", f"{GROUP}/jobs/cpu.max": "200000 100000\n"}, 2.0),
        ({f"{GROUP}/cpu/cpu.cfs_quota_us": "300000\n", f"{GROUP}/cpu/cpu.cfs_period_us": "100000\n"}, 3.0),
        ({f"{GROUP}/cpu/cpu.cfs_quota_us": "-1\n", f"{GROUP}/cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ({f"{GROUP}/cpu.max": "nonsense\n"}, math.inf),
    ],
)
def test_the_quota_is_that_of_the_control_groups(tmp_path: Path, files: dict[str, str], quota: float) -> None:
    for name, text in files.items():
        write(tmp_path, name, text)
    assert machine.cpu_quota(tmp_path) == quota


def test_a_quota_limits_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for quota, cores in (("250000", 2), ("50000", 1), ("max", 8)):
        write(tmp_path, f"{GROUP}/cpu.max", f"{quota} 100000\n")
        assert machine.physical_cores(tmp_path) == cores


GIB = 2**30
VERSION_2 = {f"{GROUP}/memory.max": f"{GIB}\n", f"{GROUP}/memory.current": f"{GIB // 2}\n"}
VERSION_2_JOB = {f"{GROUP}/jobs/one/memory.{name}": text for name, text in (("max", f"{GIB // 2}\n"), ("current", "4096\n"))}
VERSION_1 = {f"{GROUP}/memory/memory.limit_in_bytes": f"{GIB}\n", f"{GROUP}/memory/memory.usage_in_bytes": f"{GIB // 2}\n"}


@pytest.mark.parametrize(
    ("files", "memory", "available"),
    [
        ({**VERSION_2, f"{GROUP}/memory.stat": "anon 1\nfile 2\n"}, GIB, GIB // 2),
        ({**VERSION_2, f"{GROUP}/memory.stat": f"anon 1\ninactive_file {GIB // 4}\n"}, GIB, 3 * GIB // 4),
        ({**VERSION_1, f"{GROUP}/memory/memory.stat": f"total_inactive_file {GIB // 4}\n"}, GIB, 3 * GIB // 4),
        (
            {
                **VERSION_2,
                **VERSION_2_JOB,
                "proc/self/cgroup": "0::/jobs/one\n",
                f"{GROUP}/memory.stat": "",
                f"{GROUP}/jobs/one/memory.stat": "",
            },
            GIB // 2,
            GIB // 2 - 4096,
        ),
        ({**VERSION_2, f"{GROUP}/memory.stat": "", "proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 3 kB\n"}, GIB, 3072),
    ],
)
def test_the_memory_is_what_the_control_groups_allow(
    tmp_path: Path, files: dict[str, str], memory: int, available: int
) -> None:
    for name, text in files.items():
        write(tmp_path, name, text)
    assert (machine.memory(tmp_path), machine.available_memory(tmp_path)) == (memory, available)


def test_without_limits_the_memory_is_that_of_the_machine(tmp_path: Path) -> None:
    write(tmp_path, f"{GROUP}/memory.max", "max\n")
    assert machine.memory(tmp_path) == machine.available_memory(tmp_path) == machine.memory(tmp_path / "none") > 2**28


def test_a_limit_on_addresses_limits_the_memory() -> None:
    """In a process of its own, which lowers its limit."""
    code = """if True:
        import resource
        from glasshouse.records import machine
        before = machine.memory()
        used = machine._process_pages(0)
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28))
        assert 2**27 < machine.available_memory() <= 2**28 < machine.memory() < before
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_instruction_sets_and_models_are_read(tmp_path: Path) -> None:
    intel, arm = tmp_path / "intel", tmp_path / "arm"
    write(intel, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu avx512f amx_bf16\n\nprocessor\t: 1\n")
    write(arm, "proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd bf16\nCPU implementer\t: 0x41\nCPU part\t: 0xd49\n")
    assert machine.instructions(intel) == {"fpu", "avx512f", "amx_bf16"}
    assert machine.instructions(arm) == {"fp", "asimd", "bf16"}
    assert machine.instructions(tmp_path / "none") == frozenset()
    assert machine.processor(intel) == "Xeon"
    assert "0xd49" in machine.processor(arm)
    assert machine.processor(tmp_path / "none")
