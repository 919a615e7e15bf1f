"""Measured times of training steps, kept in the cache folder for each machine and shape. Measures nothing itself."""

import hashlib
import json
import math
import statistics
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import torch

from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.formatting import join_with_and
from glasshouse.records import atomic_files, kept_json, machine
from glasshouse.records.kept_schema import Between, Size
from glasshouse.specs.errors import RunError
from glasshouse.training import devices
from glasshouse.training.job import Job
from glasshouse.training.precision import BY_PRECISION

RENEW = "glasshouse doctor --measure"
# More threads are chosen only if a step is faster by this factor than on the fewer, and a less precise format only if it is
# faster by this factor than every more precise one.
MIN_SPEEDUP = 1.15
# The share of the threads that other processes may keep busy before a measurement counts as disturbed.
IDLE_SHARE = 0.3
# The fields of training that change the work of a step.
TRAINING_FIELDS = (
    *("batch", "batch_warmup", "window_warmup", "gradient_accumulation", "optimiser", "ema", "freeze", "lora_rank"),
    *("lora_targets", "processes", "checkpoint_activations", "cuda_graph", "bf16_residual"),
    "fp8_products",
)
# Seconds, one figure for each round of a measurement.
Rounds = Annotated[tuple[Annotated[float, Between(1e-12, 1e12)], ...], Size(1)]


@dataclass(frozen=True)
class TimedSettings:
    """Seconds per step in a number format on a number of CPU threads (0: not a CPU)."""

    precision: str
    threads: int
    rounds: Rounds

    @property
    def seconds(self) -> float:
        return statistics.median(self.rounds)

    @property
    def settings(self) -> str:
        return settings_text(self.precision, self.threads)


@dataclass(frozen=True)
class TimedReplicas:
    """Seconds per step and replica of `count` replicas, and seconds per step alone."""

    precision: str
    threads: int
    count: int
    together: Rounds
    alone: Rounds

    @property
    def is_faster(self) -> bool:
        return statistics.median(self.alone) > MIN_SPEEDUP * statistics.median(self.together)

    @property
    def text(self) -> str:
        together, alone = (statistics.median(rounds) * 1e3 for rounds in (self.together, self.alone))
        return f"{together:.1f} ms per step and replica with {self.count} of them, {alone:.1f} ms alone"


@dataclass(frozen=True)
class TimedWithout:
    """Seconds per step without a fast path and, in turn, with it."""

    fast_path: str
    without: Rounds
    taken: Rounds

    @property
    def text(self) -> str:
        slow, fast = (statistics.median(rounds) * 1e3 for rounds in (self.without, self.taken))
        return f"{self.fast_path}: {fast:.1f} ms with, {slow:.1f} ms without ({slow / fast:.2f} times)"


@dataclass(frozen=True)
class SpeedMeasurement:
    """The step times of a shape on a machine. `words` are the recipe and the overrides, if there were no other changes.

    `load` is the number of processes that were ready to run. Replicas and fast paths are timed in the fastest settings.
    """

    machine: dict[str, str]
    shape: dict[str, Any]
    date: str
    words: tuple[str, ...]
    load: float
    times: Annotated[tuple[TimedSettings, ...], Size(1)]
    replicas: TimedReplicas | None = None
    fast_paths: tuple[TimedWithout, ...] = ()

    @property
    def was_busy(self) -> bool:
        """Whether other processes were computing when the measurement began."""
        return self.load > IDLE_SHARE * int(self.machine["threads"])

    def fastest(self, precision: str = "auto", threads: int = 0) -> TimedSettings | None:
        """The settings to train with, within what the spec sets itself; None if that was not measured."""
        best, earlier = None, list[float]()
        for name in BY_PRECISION if precision == "auto" else (precision,):
            times = [one for one in self.times if one.precision == name and threads in (0, one.threads)]
            if not times:
                continue
            of_format, *more = sorted(times, key=lambda one: one.threads)
            for one in more:
                of_format = one if of_format.seconds > MIN_SPEEDUP * one.seconds else of_format
            if all(seconds > MIN_SPEEDUP * of_format.seconds for seconds in earlier):
                best = of_format
            earlier.append(of_format.seconds)
        return best

    @property
    def source(self) -> str:
        """Where a choice comes from."""
        return f"as measured on {self.date} ({RENEW})"

    def reason(self, chosen: TimedSettings) -> str:
        """Where the choice comes from, with the times of all settings."""
        times = join_with_and([f"{one.seconds * 1e3:.1f} ms in {one.settings}" for one in self.times])
        return f"{chosen.settings}: {self.source}: {times}"


def settings_text(precision: str, threads: int) -> str:
    return precision + (f" on {threads} thread{'s' * (threads > 1)}" if threads else "")


def machine_of(device: torch.device) -> dict[str, str]:
    """What a measurement depends on: the processor, its usable cores, the GPU and torch."""
    described = machine.describe(str(device))
    facts = {name: described[name] for name in ("processor", "cores", "torch", "device", "accelerator") if name in described}
    instructions = torch.backends.cpu.get_cpu_capability()
    return facts | {"instructions": instructions, "threads": str(devices.available_threads())}


def shape_of(job: Job) -> dict[str, Any]:
    """The shape of a job's steps: its model and its batches. The seed, the learning rate and the text do not matter."""
    spec = job.spec
    training = asdict(spec.training)
    shape = {
        "task": spec.task,
        "model": asdict(replace(spec.model, initialisation=0.0)),
        "vocabulary": job.prepared.tokenizer.vocabulary,
        "context": spec.data.context,
        # Short texts fill a part of the context. A power of two, because other texts of the same kind have another mean.
        "length": 2 ** math.ceil(math.log2(max(job.with_seed(0).mean_length(), 1))),
        "training": {name: training.get(name, training["own"].get(name)) for name in TRAINING_FIELDS},
    }
    return dict(json.loads(json.dumps(shape, default=dict)))


def folder() -> Path:
    return cache_folder() / "measurements"


def file_of(described: dict[str, str], shape: dict[str, Any]) -> Path:
    """The file of a measurement, named after a digest of the machine and the shape."""
    key = json.dumps([described, shape], sort_keys=True)
    return folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def keep(measurement: SpeedMeasurement) -> Path:
    path = file_of(measurement.machine, measurement.shape)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_files.write_json(path, asdict(measurement))
    except OSError as error:
        raise RunError(
            f"cannot write the measurement to {path}: {error.strerror}; set GLASSHOUSE_CACHE to a folder"
        ) from None
    return path


def find(job: Job) -> tuple[SpeedMeasurement | None, str]:
    """(the measurement of exactly this machine and this shape, or None; a remark on a file that cannot be used)."""
    described, shape = machine_of(job.device), shape_of(job)
    path = file_of(described, shape)
    if not path.exists():
        return None, ""
    measurement = read(path)
    if measurement and (measurement.machine, measurement.shape) == (described, shape):
        return measurement, ""
    wrong = "of another machine or shape" if measurement else "damaged"
    return None, f"the kept measurement {path} is {wrong} and is not used; renew it with: {RENEW}"


def read(path: Path) -> SpeedMeasurement | None:
    """A kept measurement; None if the file is damaged."""
    try:
        measurement: SpeedMeasurement = kept_json.read(path, SpeedMeasurement)
    except (OSError, ValueError):
        return None
    return measurement if measurement.fastest() else None


def of_machine(device: torch.device) -> list[SpeedMeasurement]:
    described = machine_of(device)
    found = [read(path) for path in sorted(folder().glob("*.json"))]
    return [measurement for measurement in found if measurement and measurement.machine == described]
