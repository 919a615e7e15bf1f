"""Time the steps of a job in each number format and on some numbers of threads, with and without fast paths.

A machine becomes slower and faster over seconds. So all settings are timed in every round, every other round reverses their
order, and the median counts. The model is built anew in each round: where it lies in memory changes its speed too.
"""

import os
import shutil
import statistics
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from glasshouse import cpu_kernels
from glasshouse.parts import fp8_products
from glasshouse.parts.triton_installed import TRITON_INSTALLED
from glasshouse.records.progress_bar import say
from glasshouse.training import compute_choice, cost_plan, devices, precision
from glasshouse.training.job import Job
from glasshouse.training.precision import BY_PRECISION

# More threads count as faster only if a step is faster by this factor than on the fewer, and a less precise format only if
# it is faster by this factor than every more precise one.
MIN_SPEEDUP = 1.15
# The share of the threads that other processes may keep busy before a measurement counts as disturbed.
IDLE_SHARE = 0.3
ROUNDS = 7
CPU_KERNELS, CUDA_GRAPH = "kernels for CPUs", "CUDA graph"
COMPILERS = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class TimedSettings:
    """Seconds per step of each round, in a number format on a number of CPU threads (0: not a CPU)."""

    precision: str
    threads: int
    rounds: tuple[float, ...]

    @property
    def text(self) -> str:
        return compute_choice.settings_text(self.precision, self.threads)

    @property
    def seconds(self) -> float:
        return statistics.median(self.rounds)


@dataclass(frozen=True)
class SpeedMeasurement:
    """The step times of a job on this machine. `load` is the number of processes that were ready to run.

    `without` says how much slower the fastest settings are without what makes steps fast on this machine.
    """

    times: tuple[TimedSettings, ...]
    fastest: TimedSettings
    load: float
    without: str

    @property
    def was_busy(self) -> bool:
        """Whether other processes were computing when the measurement began."""
        return self.load > IDLE_SHARE * devices.available_threads()


def fastest_of(times: Sequence[TimedSettings]) -> TimedSettings:
    """The settings to train with."""
    best, earlier = times[0], list[float]()
    for name in BY_PRECISION:
        if not (of_format := sorted((one for one in times if one.precision == name), key=lambda one: one.threads)):
            continue
        chosen = of_format[0]
        for one in of_format[1:]:
            chosen = one if chosen.seconds > MIN_SPEEDUP * one.seconds else chosen
        if all(seconds > MIN_SPEEDUP * chosen.seconds for seconds in earlier):
            best = chosen
        earlier.append(chosen.seconds)
    return best


def measure(job: Job, show: Callable[[float, str], None] = lambda share, what: None) -> SpeedMeasurement:
    """The step times of a job on this machine. Trains nothing and keeps nothing."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    formats, counts = formats_of(job.device), thread_counts(job.device)
    timing = cost_plan.timing_job(job)
    rounds: dict[tuple[str, int], list[float]] = {(name, count): [] for name in formats for count in counts}
    for number in range(ROUNDS):
        backwards = slice(None, None, -1 if number % 2 else 1)
        for name in list(formats)[backwards]:
            show(number / ROUNDS, f"measuring {name}")
            try:
                engine = timing.engine(name)
                for count in counts[backwards]:
                    with devices.threads(count):
                        rounds[name, count].append(cost_plan.step_seconds(engine, job.device))
            except RuntimeError as error:
                if name == "fp32" or not precision.is_unsupported(error):
                    raise
                say(f"this machine cannot compute a step in {name} ({error})")
                formats.remove(name)
    times = tuple(TimedSettings(*settings, tuple(rounds[settings])) for settings in rounds if settings[0] in formats)
    chosen = fastest_of(times)
    return SpeedMeasurement(times, chosen, load, _time_fast_path(timing, chosen, show))


def _time_fast_path(job: Job, settings: TimedSettings, show: Callable[[float, str], None]) -> str:
    """The step times with and without the fast path that these steps take, in turn; empty if there is none."""
    without, taken, name = list[float](), list[float](), ""
    for number in range(ROUNDS):
        show(number / ROUNDS, "measuring without fast paths")
        if (variant := without_fast_path(job, settings.precision)) is None:
            return ""
        name, other, context = variant
        with devices.threads(settings.threads):
            taken.append(cost_plan.step_seconds(job.engine(settings.precision), job.device))
            with context:
                without.append(cost_plan.step_seconds(other.engine(settings.precision), job.device))
    slow, fast = statistics.median(without) * 1e3, statistics.median(taken) * 1e3
    return f"{name}: {fast:.1f} ms with, {slow:.1f} ms without ({slow / fast:.2f} times)"


def formats_of(device: torch.device) -> list[str]:
    if device.type == "cuda" and torch.cuda.get_device_capability(device) >= compute_choice.AMPERE:
        return list(BY_PRECISION)
    return ["fp32", "bf16"] if device.type == "cpu" and compute_choice.times_bf16() else ["fp32"]


def thread_counts(device: torch.device) -> list[int]:
    """The numbers of threads that are timed: powers of two, and all threads. Other devices than a CPU have only 0."""
    available = devices.available_threads()
    powers = [2**power for power in range(available.bit_length()) if 2**power < available]
    return [*powers, available] if device.type == "cpu" else [0]


def fast_paths(device: torch.device) -> dict[str, str]:
    """Each fast path, and whether this machine has it."""
    if device.type == "cpu":
        from glasshouse.cpu_kernels import row_kernel

        compiler = next((name for name in COMPILERS if shutil.which(name)), None)
        spread = "on torch's threads" if row_kernel.on_torch_threads() else "in one thread: torch has no GNU OpenMP here"
        return {
            CPU_KERNELS: f"yes, in fp32, {spread}",
            "bfloat16 products": "yes" if compute_choice.times_bf16() else "no: this processor has no instructions for them",
            "training.compile=true": f"yes, by {compiler}" if compiler else f"no: it needs one of {', '.join(COMPILERS)}",
        }
    if device.type != "cuda":
        return {}
    bf16 = torch.cuda.get_device_capability(device) >= compute_choice.AMPERE
    triton = "yes" if TRITON_INSTALLED else "no: Triton is not installed"
    return {
        CUDA_GRAPH: "yes",
        "bfloat16 products": "yes" if bf16 else "no: this GPU emulates them",
        "training.fp8_products=true": "yes" if fp8_products.available(device) else "no: this GPU has no 8-bit products",
        "Triton kernels": triton,
        "training.compile=true": triton,
    }


def without_fast_path(job: Job, precision: str) -> tuple[str, Job, AbstractContextManager[None]] | None:
    """The fast path that steps of this job take by themselves, with the job and a context in which they do not."""
    if job.device.type == "cpu" and precision == "fp32":
        return CPU_KERNELS, job, cpu_kernels.switched_off()
    if job.device.type == "cuda" and job.spec.training.cuda_graph:
        return CUDA_GRAPH, job.with_training(cuda_graph=False), nullcontext()
    return None
