"""The cost plan: parameters, FLOPs, memory and time of a job before anything is spent.

Counts are exact. Memory is found by running the step on tensors that have shapes and no data. Time is measured on a few real
steps, which are then thrown away.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from glasshouse import models
from glasshouse.formatting import size
from glasshouse.models import parameter_counts
from glasshouse.records import machine
from glasshouse.specs.errors import SpecError
from glasshouse.tasks import linear_cross_entropy
from glasshouse.training import devices, lora, precision, replicas
from glasshouse.training.engine import Engine
from glasshouse.training.freezing import UnfreezingSchedule, trained_parameters
from glasshouse.training.job import Job

# A trial is long enough to be a fair sample of a noisy machine and short enough not to be noticed.
TRIAL_SECONDS = 1.0
TRIAL_STEPS = 20
# One thread must be this much faster to be chosen: a busy machine may be idle later.
THREADS_WORTH = 1.2


@dataclass(frozen=True)
class Plan:
    """What a job will cost. `memory` is in bytes by purpose; `step_seconds` is what `seconds` rests on."""

    parameters: dict[str, int]
    steps: int
    tokens: int
    flops: int
    memory: dict[str, int]
    step_seconds: float
    seconds: float
    precision: str
    threads: int
    notes: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def make(job: Job) -> Plan:
    """Plan a job, measuring on its device."""
    notes = list(job.notes)
    _refuse_too_large(job)
    chosen, count = job.spec.training.precision, job.spec.training.threads
    if chosen == "auto":
        chosen, why = precision.choose(job.device, lambda name: step_seconds(trial(job).engine(name), job.device))
        notes.append(f"precision {why}")
    if job.device.type == "cpu" and not count:
        count, measured, why = _choose_threads(lambda: step_seconds(trial(job).engine(chosen), job.device))
        notes.append(f"threads {why}")
    else:
        with devices.threads(count):
            measured = step_seconds(trial(job).engine(chosen), job.device)
    if job.spec.training.compile:
        notes.append("time was measured without torch.compile, which is slow to start and then faster")
    with torch.device("meta"):
        model = models.assemble(job.spec.model, job.prepared.tokenizer.vocabulary, job.spec.data.context)
    forward = model.flops(job.spec.data.context)  # type: ignore[operator]
    batch = job.spec.training.batch
    training = parameter_counts.training_flops(forward) * batch * job.steps
    rounds = -(-job.steps // job.spec.evaluation.every)
    evaluated = job.task.evaluation_tokens(job.prepared.splits, job.spec.evaluation, rounds)
    evaluation = forward * evaluated // job.spec.data.context
    return Plan(
        parameters=parameter_counts.parameters_by_part(model),
        steps=job.steps,
        tokens=job.task.batch_tokens(batch) * job.steps,
        flops=training + evaluation,
        memory=memory(job, chosen),
        step_seconds=measured,
        seconds=measured * job.steps * (1 + evaluation / training),
        precision=chosen,
        threads=count,
        notes=tuple(notes),
    )


def _refuse_too_large(job: Job) -> None:
    """Raise before the trial where even the leaner format needs more memory than the device has."""
    needed = min(sum(memory(job, name).values()) for name in ("fp32", "bf16"))
    there = memory_there(job.device)
    if needed > there:
        raise SpecError(
            "too-little-memory",
            f"training would need about {size(needed)} of memory and this device has {size(there)}; choose a smaller "
            f"training.batch (now {job.spec.training.batch}), a larger training.gradient_accumulation, or a smaller model",
        )


def memory_there(device: torch.device) -> int:
    """Bytes that the device has, used or not."""
    return torch.cuda.get_device_properties(device).total_memory if device.type == "cuda" else machine.memory()


def _choose_threads(time_step: Callable[[], float]) -> tuple[int, float, str]:
    """(threads, seconds of a step, why): all of torch's, or one where a busy machine makes threads wait for each other."""
    every = torch.get_num_threads()
    together = time_step()
    if every == 1:
        return 1, together, "1: torch was given no more"
    with devices.threads(1):
        alone = time_step()
    count = 1 if alone * THREADS_WORTH < together else every
    why = f"{count}: measured {alone * 1e3:.1f} ms a step on 1 and {together * 1e3:.1f} ms on {every}"
    return count, alone if count == 1 else together, why


def step_seconds(engine: Engine | replicas.Replicas, device: torch.device) -> float:
    """The median time of a few steps, the first left out. The engine is spent afterwards."""
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < 2 or (len(times) <= TRIAL_STEPS and time.perf_counter() - began < TRIAL_SECONDS):
        devices.synchronise(device)
        start = time.perf_counter()
        engine.step(len(times) % engine.steps)
        devices.synchronise(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:] or [0.0])


def memory(job: Job, chosen: str, plain: bool = False) -> dict[str, int]:
    """Peak bytes of training by purpose: what stays for the whole run, and what a step holds on top.

    `plain` is for attention that forms its weights, as a replica's does.
    """
    spec = replace(job.spec, training=replace(job.spec.training, precision=chosen))
    rows = spec.training.batch // spec.training.gradient_accumulation
    saved: dict[int, int] = {}
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = models.assemble(spec.model, job.prepared.tokenizer.vocabulary, spec.data.context)
        lora.attach(model, spec.training)
        if plain:
            replicas.make_plain(model)
        # At its largest: a gradual thaw ends with everything.
        UnfreezingSchedule(model, spec.training, job.steps).apply(job.steps)
        weights = {parameter.untyped_storage()._cdata for parameter in model.parameters()}

        def keep(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in weights:
                saved[storage._cdata] = storage.nbytes()
            return tensor

        batch = job.task.largest_batch(rows)
        hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
        with hooks, precision.context(chosen, torch.device("cpu")):
            job.task.loss_sum(model, batch)
    parameters, trained = parameter_counts.parameters(model) * 4, trained_parameters(model) * 4
    logits = job.task.output_size(rows, job.prepared.tokenizer.vocabulary) * 4
    held = sum(saved.values())
    if job.task.fused_loss and linear_cross_entropy.foreseen(model, chosen, job.device):
        # Neither the logits, of two bytes each there, nor their gradient are ever written out.
        held, logits = held - logits // 2, 0
    return {
        "weights": parameters,
        "gradients": trained,
        "optimiser": 2 * trained,
        "activations": held,
        # The loss's backward pass forms the logits' gradient beside the saved log-probabilities.
        "loss gradient": logits,
    }


def trial(job: Job) -> Job:
    """The job as it is tried: no torch.compile, whose first step would take longer than the trial, and standing still."""
    training = replace(job.spec.training, compile=False, learning_rate=0.0)
    return replace(job, spec=replace(job.spec, training=training))
