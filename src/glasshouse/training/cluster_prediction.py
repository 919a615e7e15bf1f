"""The cost of training on a cluster, predicted before anything is queued: memory, step time, communication, GPU hours.

Nothing is allocated: parameters and FLOPs come from the model on the meta device, memory from fake tensors. Data are not
read either: texts count as long as the context, and the vocabulary as large as the spec allows.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import nn

from glasshouse import models, tokenizers
from glasshouse.data.batch_stages import LARGEST_DIVISOR
from glasshouse.data.prepared_data import PreparedData
from glasshouse.formatting import count, duration, percent, size
from glasshouse.launching.cluster_hardware import ClusterHardware
from glasshouse.models import parameter_counts
from glasshouse.specs import combinations
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.tokenizers.base import UNKNOWN
from glasshouse.tokenizers.words import Characters
from glasshouse.training import activation_checkpointing, communication_model, compute_choice, cost_plan, lora
from glasshouse.training.communication_model import Links, StepTimes, WeightCounts
from glasshouse.training.freezing import UnfreezingSchedule, trained_parameters
from glasshouse.training.job import Job, check_parts
from glasshouse.training.parallelism import REPLICATE, SHARD, SINGLE

# AdamW reads a weight, its gradient and two moments, and writes all but the gradient: seven numbers of four bytes.
UPDATE_BYTES = 28
# The other kind of parallelism is named if it saves at least this share of a step.
WORTH_A_CHANGE = 0.1
# A GPU with fewer tokens at once is unlikely to reach the achieved share.
FEW_TOKENS = 8192


@dataclass(frozen=True)
class ParallelCost:
    """The predicted cost of one kind of parallelism. Pairs are bounds: communication overlaps fully, and not at all.

    `memory` is in bytes for each GPU, by purpose. `communication_share` is the share of a step in which GPUs only wait for
    communication. `seconds` and `cost` are of all steps: None if the number of steps or the price is not known.
    """

    memory: dict[str, int]
    fits: bool
    compute_seconds: float
    communication_seconds: float
    step_seconds: tuple[float, float]
    communication_share: tuple[float, float]
    tokens_per_second: tuple[float, float]
    gpu_hours_per_billion_tokens: tuple[float, float]
    seconds: tuple[float, float] | None
    cost: tuple[float, float] | None


@dataclass(frozen=True)
class ClusterPlan:
    """The predicted cost of a recipe on a cluster. `plans` has an entry for each kind of parallelism; `chosen` is the kind
    that training would use.

    `achieved_flops` is the FLOP/s of a GPU without communication. `measured` says whether a step was timed on this machine.
    `batch` is a multiple of the GPUs; `rows` are the sequences of a GPU in a micro-batch.
    """

    nodes: int
    gpus_per_node: int
    hardware: ClusterHardware
    parameters: int
    batch: int
    rows: int
    micro_batches: int
    tokens: int
    steps: int
    step_flops: int
    achieved_flops: float
    measured: bool
    precision: str
    plans: dict[str, ParallelCost]
    chosen: str
    warnings: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def best(self) -> ParallelCost:
        return self.plans[self.chosen]

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def make(
    asked: Spec, nodes: int, gpus_per_node: int, hardware: ClusterHardware, step_seconds: float | None = None
) -> ClusterPlan:
    """The plan of a spec on a cluster. `step_seconds` is the measured time of a step of one GPU on its rows."""
    gpus = nodes * gpus_per_node
    spec = spec_on(asked, gpus)
    training, job = spec.training, _job_without_data(spec)
    model = _meta_model(job)
    weights = _weights_of(model)
    forward = model.flops(spec.data.context)
    compute = _compute_times(spec, forward * training.batch // gpus, weights, hardware, step_seconds)
    links = Links(
        nodes,
        gpus_per_node,
        hardware.node_gb_per_second * 1e9 * hardware.bandwidth_share,
        hardware.network_gb_per_second * 1e9 * hardware.bandwidth_share,
        hardware.node_latency_us * 1e-6,
        hardware.network_latency_us * 1e-6,
    )
    number_bytes, micro_batches = 2 if training.precision == "bf16" else 4, training.gradient_accumulation
    memory, available = cost_plan.training_memory(job, training.precision), hardware.gpu_memory_gb * 1e9
    if gpus == 1:
        chosen, options = SINGLE, {SINGLE: (cost_plan.at_peak(memory, training), compute)}
    else:
        auto = REPLICATE if cost_plan.fits(sum(memory.values()), available) else SHARD
        chosen = auto if training.parallel == "auto" else training.parallel
        gathered = {"gathered": gathered_bytes(weights, number_bytes, micro_batches)}
        sharded = cost_plan.at_peak(cost_plan.sharded(memory, gpus) | gathered, training)
        options = {
            REPLICATE: (memory, communication_model.replicated_step(compute, weights, links)),
            SHARD: (sharded, communication_model.sharded_step(compute, weights, links, number_bytes, micro_batches)),
        }
    tokens, steps, price = job.task.batch_tokens(training.batch), training.steps, hardware.price_per_gpu_hour
    plans = {}
    for kind, (needed, times) in options.items():
        step = (times.fastest, times.slowest)
        hours = [seconds * gpus / 3600 for seconds in step]
        plans[kind] = ParallelCost(
            memory=needed,
            fits=cost_plan.fits(sum(needed.values()), available),
            compute_seconds=times.compute,
            communication_seconds=times.communication,
            step_seconds=step,
            communication_share=times.waiting_shares,
            tokens_per_second=(tokens / step[0], tokens / step[1]),
            gpu_hours_per_billion_tokens=(hours[0] / tokens * 1e9, hours[1] / tokens * 1e9),
            seconds=(step[0] * steps, step[1] * steps) if steps else None,
            cost=(hours[0] * steps * price, hours[1] * steps * price) if steps and price else None,
        )
    step_flops = parameter_counts.training_flops(forward) * training.batch
    plan = ClusterPlan(
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        hardware=hardware,
        parameters=weights.total,
        batch=training.batch,
        rows=training.batch // (gpus * micro_batches),
        micro_batches=micro_batches,
        tokens=tokens,
        steps=steps,
        step_flops=step_flops,
        achieved_flops=step_flops / gpus / (compute.forward + compute.backward),
        measured=step_seconds is not None,
        precision=training.precision,
        plans=plans,
        chosen=chosen,
    )
    warnings, assumptions = _warnings(plan, asked, spec), _assumptions(plan, asked, number_bytes)
    return replace(plan, warnings=tuple(warnings), assumptions=tuple(assumptions))


def spec_on(spec: Spec, gpus: int) -> Spec:
    """The spec of a run on so many GPUs: one process each, a batch that they can share, bfloat16 if it says nothing else."""
    training = spec.training
    if training.replicas > 1:
        problem = "trains several runs, and the prediction is for one; leave it out"
        raise SpecError(problem, "training.replicas", training.replicas)
    unit = gpus * training.gradient_accumulation * (LARGEST_DIVISOR if training.batch_warmup else 1)
    own = {**training.own, "window_warmup": 0.0} if "window_warmup" in training.own else training.own
    precision = "bf16" if training.precision == "auto" else training.precision
    batch = math.ceil(training.batch / unit) * unit
    training = replace(training, processes=gpus, batch=batch, batch_warmup=0.0, own=own, precision=precision)
    spec = replace(spec, training=training)
    combinations.check(spec)
    return spec


def measured_step_seconds(spec: Spec, gpus: int, device: torch.device) -> float | None:
    """The time of a step of one GPU on its rows, measured on this device; None if it does not fit there."""
    job = Job.prepare(spec_on(spec, gpus), device, even_if_too_large=True)
    needed = sum(cost_plan.training_memory(job, job.spec.training.precision).values())
    if not cost_plan.fits(needed, cost_plan.free_memory(device)):
        return None
    return cost_plan.step_seconds(cost_plan.timing_job(job).engine(), device)


def gathered_bytes(weights: WeightCounts, number_bytes: int, micro_batches: int) -> int:
    """What FSDP2 holds besides the shards: weights and gradients of the rest, of a block and of the next one; with several
    micro-batches, whose gradients are added up first, the gradients of all weights."""
    gradients = weights.trained if micro_batches > 1 else weights.trained_rest + 2 * max(weights.trained_blocks, default=0)
    return number_bytes * (weights.rest + 2 * max(weights.blocks, default=0) + gradients)


def _job_without_data(spec: Spec) -> Job:
    """A job to predict memory with. Its tokenizer has the right size and nothing else."""
    task = check_parts(spec)
    if spec.data.tokenizer_file:
        tokenizer = tokenizers.load(spec.data.tokenizer_file)
    else:
        tokenizer = Characters([UNKNOWN, *[""] * (spec.data.vocabulary - 1)], {UNKNOWN: 0})
    spec = replace(spec, model=task.draft_model(spec.model))
    prepared = PreparedData(tokenizer, {}, "")
    return Job(spec, prepared, task, max(spec.training.steps, 1), torch.device("cuda"))


def _meta_model(job: Job) -> models.Model:
    """The model of a job, without memory for its weights. Frozen parameters are marked."""
    with torch.device("meta"):
        model = models.assemble(job.spec.model, job.prepared.tokenizer.vocabulary, job.spec.data.context)
        lora.attach(model, job.spec.training)
    UnfreezingSchedule(model, job.spec.training, job.steps).apply(job.steps)
    return model


def weights_of(spec: Spec) -> WeightCounts:
    """The numbers of weights that the processes of a run send each other."""
    return _weights_of(_meta_model(_job_without_data(spec)))


def _weights_of(model: nn.Module) -> WeightCounts:
    blocks = activation_checkpointing.blocks(model)
    counts = tuple(parameter_counts.parameters(block) for block in blocks)
    trained = tuple(trained_parameters(block) for block in blocks)
    return WeightCounts(
        counts, parameter_counts.parameters(model) - sum(counts), trained, trained_parameters(model) - sum(trained)
    )


def _compute_times(
    spec: Spec, forward: int, weights: WeightCounts, hardware: ClusterHardware, step_seconds: float | None
) -> StepTimes:
    """The times of one GPU without communication, with all weights. `forward` are the FLOPs of its forward passes."""
    update = weights.trained * UPDATE_BYTES / (hardware.gpu_memory_gb_per_second * 1e9)
    # The backward pass has two products for each of the forward pass, and may compute the forward pass again.
    parts = 4 if spec.training.checkpoint_activations else 3
    if step_seconds is None:
        once = forward / (hardware.peak_tflops * 1e12 * hardware.achieved_share)
    else:
        update = min(update, step_seconds / 2)
        once = (step_seconds - update) / parts
    return StepTimes(once, (parts - 1) * once, update)


def _warnings(plan: ClusterPlan, asked: Spec, spec: Spec) -> list[str]:
    found, best, training = [], plan.best, asked.training
    if training.batch != plan.batch:
        parts = f" x training.gradient_accumulation={plan.micro_batches}" if plan.micro_batches > 1 else ""
        wrong = f"cannot be divided among {plan.gpus} GPUs{parts}"
        if training.batch < plan.gpus:
            wrong = f"has less than one sequence for each of {plan.gpus} GPUs"
        found.append(
            f"training.batch={training.batch} {wrong} and would be refused; all figures are for training.batch={plan.batch}"
        )
    if not best.fits:
        found.append(_memory_remedy(plan, spec))
    if (at_once := plan.rows * spec.data.context) < FEW_TOKENS and not plan.measured:
        found.append(
            f"a GPU computes {count(at_once)} tokens at once; with so few, expect less than the achieved share of "
            f"{percent(plan.hardware.achieved_share)}"
        )
    if (ratio := best.communication_seconds / best.compute_seconds) > 1:
        found.append(
            f"communication takes {ratio:.1f} times as long as computing, so more GPUs hardly help; use fewer GPUs, or a "
            f"larger batch: with training.batch={math.ceil(ratio) * plan.batch} computing would take as long"
        )
    for kind, other in plan.plans.items():
        if other.fits and other.step_seconds[1] < (1 - WORTH_A_CHANGE) * best.step_seconds[1]:
            found.append(
                f"training.parallel={kind} fits too and is faster: at most {duration(other.step_seconds[1])} a step "
                f"instead of {duration(best.step_seconds[1])}"
            )
    if training.precision not in ("auto", "bf16") and not plan.measured:
        found.append(f"peak_tflops and achieved_share must be those of training.precision={training.precision}")
    return found


def _memory_remedy(plan: ClusterPlan, spec: Spec) -> str:
    needed, have = sum(plan.best.memory.values()), plan.hardware.gpu_memory_gb * 1e9
    remedies = []
    if plan.rows > 1:
        remedies.append(f"a larger training.gradient_accumulation (now {plan.micro_batches})")
    if not spec.training.checkpoint_activations:
        remedies.append("training.checkpoint_activations=true")
    if plan.chosen == REPLICATE:
        remedies.append("training.parallel=shard")
    remedies.append("a shorter data.context, or a smaller model" if plan.rows == 1 else "more GPUs")
    return f"training needs about {size(needed)} of each GPU, which has {size(have)}; choose {', or '.join(remedies)}"


def _assumptions(plan: ClusterPlan, asked: Spec, number_bytes: int) -> list[str]:
    hardware, per_node, training = plan.hardware, plan.gpus_per_node, asked.training
    source = f"{percent(hardware.achieved_share)} of {hardware.peak_tflops:g} TFLOP/s, whatever the batch"
    if plan.measured:
        source = "a step measured on this machine" + (", without torch.compile" if training.compile else "")
    found = [
        f"computing: {source}; texts are as long as data.context; no evaluations or checkpoints",
        f"update: {UPDATE_BYTES} bytes for each weight pass a GPU's memory, at {hardware.gpu_memory_gb_per_second:g} GB/s",
    ]
    if plan.gpus > 1:
        links = []
        if per_node > 1:
            rate = f"{hardware.node_gb_per_second:g} GB/s and {hardware.node_latency_us:g} µs"
            links.append(f"ring within a node of {per_node} at {rate}")
        if plan.nodes > 1:
            rate = f"{hardware.network_gb_per_second:g} GB/s for each and {hardware.network_latency_us:g} µs"
            links.append(f"{'then ' if links else ''}ring or trees between {plan.nodes} nodes at {rate}")
        found += [
            f"links: {', '.join(links)}; {percent(hardware.bandwidth_share)} of these bandwidths",
            "all-reduce of B bytes among p: 2 (p - 1) / p x B / bandwidth + 2 (p - 1) x latency",
            "all-gather and reduce-scatter: half of that",
            "replicate: one all-reduce of the gradients in 4 bytes, in buckets of 25 MiB",
            f"shard: all-gather of every block twice and reduce-scatter once, in {number_bytes} bytes",
            "bounds: communication overlaps fully with the pass that it belongs to, or not at all",
        ]
    if training.precision == "auto" and plan.step_flops / plan.gpus < compute_choice.BF16_FLOPS:
        found.append(
            "number format: bf16; a step is so small that training.precision=auto takes another, so set "
            "training.precision=bf16"
        )
    if training.batch_warmup or training.own.get("window_warmup"):
        found.append(
            "warm-up: every step is counted with the whole batch and the whole context, so training takes less time"
        )
    return found
