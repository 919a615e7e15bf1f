"""The cost plan: the parameters, FLOPs, memory and time of a job, predicted before training starts.

Parameter counts are exact. Memory is predicted by a forward pass on fake tensors, which have shapes and no data; a small one
is computed instead. Time is measured on a few real steps, whose results are discarded.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from glasshouse import cpu_kernels, models
from glasshouse.formatting import size
from glasshouse.models import parameter_counts
from glasshouse.parts.attention import distance_bias_kernel
from glasshouse.records import progress_bar
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import TrainingSpec
from glasshouse.tasks import linear_cross_entropy
from glasshouse.training import compute_choice, devices, lora, optimisers, precision, process_group, replicas
from glasshouse.training.activation_checkpointing import blocks, checkpoint_activations
from glasshouse.training.engine import Engine
from glasshouse.training.freezing import UnfreezingSchedule, trained_parameters
from glasshouse.training.job import Job
from glasshouse.training.parallelism import REPLICATE, SHARD, SINGLE

# Limits of a timing: long enough to average over a noisy machine, short enough not to delay training. For a plan it also
# ends after this share of the steps that it is for.
TIMING_SECONDS = 1.0
TIMING_STEPS = 20
TIMING_SHARE = 0.01
# A forward pass of at most so many FLOPs, with parameters and embedded tokens of at most so many numbers, is computed to
# predict its memory: on one ARM core that takes at most 0.1 s, and torch takes 1.8 s to import what fake tensors need.
SMALL_FLOPS, SMALL_NUMBERS = 4e9, 2e7
# The side of the matrices that give the speed of a device.
ESTIMATE_SIZE = 1024
# The share of the free memory that a prediction may fill.
MEMORY_SHARE = 0.9


@dataclass(frozen=True)
class Plan:
    """The predicted cost of a job. `memory` is in bytes, by purpose. `seconds` is extrapolated from `step_seconds`."""

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
    choice: str = ""  # where precision and threads come from; empty if the spec sets both
    is_measured: bool = True  # False: the time was estimated, because a step does not fit into memory


@progress_bar.bar("predicting the cost")  # Steps of a large model take long, and so does the prediction of its memory.
def make(job: Job, even_if_too_large: bool = False) -> Plan:
    """The plan of a job. The time of a job that does not fit is estimated with `even_if_too_large`, else it is refused."""
    notes = list(job.notes)
    memory = cache(lambda number_format: training_memory(job, number_format))
    too_large = _too_large(job, memory)
    if too_large and not even_if_too_large:
        raise too_large
    model, choice = job.model_without_weights(), compute_choice.choose(job)
    forward = model.flops(job.spec.data.context)
    # Batches are padded to their longest text, which may be much shorter than the context.
    training = job.step_flops() * job.steps
    rounds = -(-job.steps // job.spec.evaluation.every)
    evaluation_tokens = job.task.evaluation_tokens(job.prepared.splits, job.spec.evaluation, rounds)
    evaluation = forward * evaluation_tokens // job.spec.data.context
    processes = process_group.count_for(job.spec.training)
    with devices.threads(choice.threads):
        if too_large:
            rate = devices.matmul_flop_rate(job.device, "bf16" if choice.precision == "bf16" else "fp32", ESTIMATE_SIZE)
            measured = training // job.steps / processes / rate
            of_products = "the time is that of matrix products alone, at the speed of this device: a lower bound"
            notes += [str(too_large), of_products]
        else:
            measured = step_seconds(timing_job(job).engine(choice.precision), job.device, TIMING_SHARE * job.steps)
            if processes > 1:
                notes.append(f"{processes} processes: the time was measured in one of them, without communication")
            if job.spec.training.compile:
                notes.append("the time was measured without torch.compile, which is slow to start and faster afterwards")
    return Plan(
        parameters=parameter_counts.parameters_by_part(model),
        steps=job.steps,
        tokens=round(job.step_tokens() * job.steps),
        flops=training + evaluation,
        memory=at_peak(memory(choice.precision), job.spec.training),
        step_seconds=measured,
        seconds=measured * job.steps * (1 + evaluation / training),
        precision=choice.precision,
        threads=choice.threads,
        notes=tuple(notes),
        choice=choice.reason,
        is_measured=too_large is None,
    )


def choose_parallelism(job: Job) -> tuple[str, str]:
    """(kind, reason): whether each of several processes holds all weights or its share, by the predicted memory."""
    training, count = job.spec.training, process_group.size()
    if count == 1:
        return SINGLE, ""
    if training.parallel != "auto":
        return training.parallel, f"training.parallel={training.parallel}: {count} processes"
    # DDP keeps the gradients, in the buckets that it sends, beside the activations.
    needed = sum(training_memory(job, training.precision).values())
    # The processes of a machine without a GPU share its memory.
    available = free_memory(job.device) // (1 if job.device.type == "cuda" else process_group.local_size())
    # A share of the memory is left for the workspaces of kernels.
    kind = REPLICATE if needed <= available * MEMORY_SHARE else SHARD
    verb = "holds" if kind == REPLICATE else "holds a share of"
    return kind, (
        f"training.parallel={kind}: each of {count} processes {verb} all weights, because training needs about "
        f"{size(needed)} with all of them, and {size(available)} are free"
    )


def sharded(memory: dict[str, int], processes: int) -> dict[str, int]:
    """The memory of one process that holds a share of the weights, gradients and optimiser state."""
    return {
        purpose: -(-number // processes) if purpose in ("weights", "gradients", "optimiser") else number
        for purpose, number in memory.items()
    }


def _too_large(job: Job, memory: Callable[[str], dict[str, int]]) -> SpecError | None:
    """The refusal of a job that needs more memory than there is, even in the smaller number format and with shards."""
    training, processes = job.spec.training, process_group.count_for(job.spec.training)
    available = devices.memory(job.device)
    totals = (sum(at_peak(sharded(memory(name), processes), training).values()) for name in ("fp32", "bf16"))
    if (needed := next(totals)) > available and (needed := min(needed, next(totals))) > available:
        what = f"training needs about {size(needed)} of memory, but this device has {size(available)}"
        remedies = f"a smaller training.batch (now {training.batch}), a larger training.gradient_accumulation"
        return SpecError(f"{what}; choose {remedies}, a smaller model or training.checkpoint_activations=true")
    return None


def free_memory(device: torch.device) -> int:
    """The memory of a GPU that no other process uses, in bytes; the total memory of a machine without a GPU."""
    if device.type != "cuda":
        return devices.memory(device)
    # What torch holds in reserve is free for this process too.
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + unused


def step_seconds(engine: Engine | replicas.Replicas, device: torch.device, most_steps: float = TIMING_STEPS) -> float:
    """The mean time of a step: in each stage the median of a few, without the first. Do not train on with the engine."""
    most_steps, total = min(most_steps, TIMING_STEPS), 0.0
    for stage in engine.stages:
        times, began = list[float](), time.perf_counter()
        while len(times) < 2 or (len(times) <= most_steps and time.perf_counter() - began < TIMING_SECONDS):
            devices.synchronise(device)
            start = time.perf_counter()
            engine.step(stage.first + len(times) % stage.steps)
            devices.synchronise(device)
            times.append(time.perf_counter() - start)
        total += statistics.median(times[1:]) * stage.steps
    return total / engine.steps


def at_peak(memory: dict[str, int], training: TrainingSpec) -> dict[str, int]:
    """What is held of the result of `training_memory` at the end of the forward pass or of the backward pass, which frees
    activations while gradients come. With gradient accumulation, a forward pass begins with the gradients before it."""
    if training.gradient_accumulation > 1:
        return memory
    not_held = ("gradients",), ("activations", "loss gradient")
    moments = [{key: held for key, held in memory.items() if key not in freed} for freed in not_held]
    return max(moments, key=lambda moment: sum(moment.values()))


def training_memory(job: Job, number_format: str, of_replica: bool = False) -> dict[str, int]:
    """Memory of training in bytes, by purpose. Replicas have no fused attention, and store its weights."""
    spec = job.with_training(precision=number_format).spec
    rows = spec.training.batch // (spec.training.gradient_accumulation * process_group.count_for(spec.training))
    saved: dict[int, int] = {}
    small = number_format == "fp32" and _is_small(job, rows)
    with ExitStack() as stack:
        if small:
            # The tensors that fake ones would stand for. Random numbers do not advance.
            stack.enter_context(torch.random.fork_rng(devices=[]))
            stack.enter_context(cpu_kernels.switched_off())
        else:
            stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        stack.enter_context(distance_bias_kernel.planned_for(job.device))
        model = models.assemble(spec.model, job.prepared.tokenizer.vocabulary, spec.data.context)
        lora.attach(model, spec.training)
        if of_replica:
            replicas.use_plain_parts(model)
        # The last step needs the most memory: gradual unfreezing trains everything by then.
        UnfreezingSchedule(model, spec.training, job.steps).apply(job.steps)
        weights = {parameter.untyped_storage()._cdata for parameter in model.parameters()}

        def record_saved(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage._cdata not in weights:
                saved[storage._cdata] = storage.nbytes()
            return tensor

        batch, outputs = job.task.largest_batch(rows), list[int]()
        model.logits.register_forward_hook(lambda _, __, output: outputs.append(output.numel()))
        hooks = torch.autograd.graph.saved_tensors_hooks(record_saved, lambda tensor: tensor)
        with hooks, precision.context(number_format, torch.device("cpu")):
            job.task.loss_sum(model, batch)
            if spec.training.checkpoint_activations:
                everything, inputs = sum(saved.values()), list[int]()
                saved.clear()
                for block in blocks(model):
                    block.register_forward_pre_hook(lambda _, stream: inputs.append(stream[0].nbytes))
                checkpoint_activations(model)
                job.task.loss_sum(model, batch)
                # What the rest of the model saves, the inputs of all blocks, and the activations of one block at a time.
                saved[0] = sum(inputs) + (everything - sum(saved.values())) // max(len(inputs), 1)
    parameters, trained = parameter_counts.parameters(model) * 4, trained_parameters(model) * 4
    logits = max(outputs, default=0) * 4
    activations = sum(saved.values())
    if job.task.fused_loss and linear_cross_entropy.supports(model, number_format, job.device):
        # The gradient takes the place of the logits (two bytes each in bfloat16), or neither is stored.
        predictions = linear_cross_entropy.LEAST_TILE_ROWS if of_replica else job.task.batch_tokens(rows)
        if not linear_cross_entropy.stores_logits(model.head.width, predictions):
            activations -= logits // 2
        # Gradients in 8 bits have a place of their own.
        logits = logits // 4 if spec.training.fp8_products else 0
    return {
        "weights": parameters,
        "gradients": trained,
        "optimiser": optimisers.memory(model, spec.training),
        "activations": activations,
        # The backward pass of the loss holds the logits' gradient in addition to the saved logits.
        "loss gradient": logits,
    }


def _is_small(job: Job, rows: int) -> bool:
    """Whether a forward pass on the CPU takes no time and no memory to speak of, by its FLOPs and the sizes of tensors."""
    if job.device.type != "cpu":
        return False
    model = job.model_without_weights()
    flops = model.flops(job.spec.data.context) * rows
    numbers = parameter_counts.parameters(model) + job.task.batch_tokens(rows) * job.spec.model.width
    return bool(flops <= SMALL_FLOPS and numbers <= SMALL_NUMBERS)


def timing_job(job: Job) -> Job:
    """The job to time: without torch.compile and fits, with learning rate 0, and with the rows of one process."""
    rows = job.spec.training.batch // process_group.count_for(job.spec.training)
    job = job.with_training(compile=False, learning_rate=0.0, batch=rows)
    return replace(job, task=job.task.for_timing())
