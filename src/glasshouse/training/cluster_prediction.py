"""The cost of training on a cluster, predicted before anything is queued: memory, step time, communication, GPU hours.

Nothing is allocated: parameters and FLOPs come from the model on the meta device, memory from fake tensors. Data are not
read either: texts count as long as the context, and the vocabulary as large as the spec allows.
"""

import math
from dataclasses import replace

import torch
from torch import nn

from glasshouse import models, tokenizers
from glasshouse.data.batch_stages import LARGEST_DIVISOR
from glasshouse.data.prepared_data import PreparedData
from glasshouse.launching.cluster_hardware import ClusterHardware
from glasshouse.models import parameter_counts
from glasshouse.specs import combinations
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import Task
from glasshouse.tokenizers.base import UNKNOWN
from glasshouse.tokenizers.characters import Characters
from glasshouse.training import activation_checkpointing, cluster_plan, communication_model, compute_rule, cost_plan, lora
from glasshouse.training.cluster_plan import UPDATE_BYTES, ClusterPlan, ParallelPlan
from glasshouse.training.communication_model import Links, StepTimes, WeightCounts
from glasshouse.training.freezing import UnfreezingSchedule
from glasshouse.training.job import Job, check_parts
from glasshouse.training.parallelism import REPLICATE, SHARD, SINGLE


def make(
    spec: Spec, nodes: int, gpus_per_node: int, hardware: ClusterHardware, step_seconds: float | None = None
) -> ClusterPlan:
    """The plan of a spec on a cluster. `step_seconds` is the measured time of a step of one GPU on its rows."""
    asked, spec = spec, spec_on(spec, nodes * gpus_per_node)
    gpus, training = nodes * gpus_per_node, spec.training
    job = _job_without_data(spec)
    model = _meta_model(job)
    weights = _weights_of(model)
    forward = model.flops(spec.data.context)  # type: ignore[operator]
    rows = training.batch // (gpus * training.gradient_accumulation)
    compute = _compute_times(spec, forward * training.batch // gpus, weights, hardware, step_seconds)
    links = links_of(nodes, gpus_per_node, hardware)
    number_bytes = 2 if training.precision == "bf16" else 4
    memory = cost_plan.training_memory(job, training.precision)
    available = hardware.gpu_memory_gb * 1e9
    tokens = job.task.batch_tokens(training.batch)
    if gpus == 1:
        chosen, options = SINGLE, {SINGLE: (cost_plan.at_peak(memory, training), compute)}
    else:
        auto = REPLICATE if cost_plan.fits(sum(memory.values()), available) else SHARD
        chosen = auto if training.parallel == "auto" else training.parallel
        micro_batches = training.gradient_accumulation
        gathered = {"gathered": gathered_bytes(weights, number_bytes, micro_batches)}
        sharded = cost_plan.at_peak(cost_plan.sharded(memory, gpus) | gathered, training)
        options = {
            REPLICATE: (memory, communication_model.replicated_step(compute, weights, links)),
            SHARD: (sharded, communication_model.sharded_step(compute, weights, links, number_bytes, micro_batches)),
        }
    plans = {
        kind: _parallel_plan(needed, times, available, gpus, tokens, training.steps, hardware.price_per_gpu_hour)
        for kind, (needed, times) in options.items()
    }
    step_flops = parameter_counts.training_flops(forward) * training.batch
    plan = ClusterPlan(
        nodes=nodes,
        gpus_per_node=gpus_per_node,
        hardware=hardware,
        parameters=weights.total,
        batch=training.batch,
        rows=rows,
        micro_batches=training.gradient_accumulation,
        tokens=tokens,
        steps=training.steps,
        step_flops=step_flops,
        achieved_flops=step_flops / gpus / (compute.forward + compute.backward),
        measured=step_seconds is not None,
        precision=training.precision,
        plans=plans,
        chosen=chosen,
        warnings=(),
        assumptions=(),
    )
    return replace(
        plan,
        warnings=tuple(cluster_plan.warnings(plan, asked, spec)),
        assumptions=(
            *cluster_plan.assumptions(plan, spec),
            *_format_assumption(asked, step_flops / gpus),
            *_warmup_assumption(asked),
        ),
    )


def _format_assumption(asked: Spec, flops: float) -> list[str]:
    """What to set if training would choose another number format than the prediction, for steps of so many FLOPs a GPU."""
    if asked.training.precision != "auto" or flops >= compute_rule.BF16_FLOPS:
        return []
    return [
        "number format: bf16; a step is so small that training.precision=auto takes another, so set training.precision=bf16"
    ]


def _warmup_assumption(asked: Spec) -> list[str]:
    if not (asked.training.batch_warmup or asked.training.window_warmup):
        return []
    return ["warm-up: every step is counted with the whole batch and the whole context, so training takes less time"]


def spec_on(spec: Spec, gpus: int) -> Spec:
    """The spec of a run on so many GPUs: one process each, a batch that they can share, bfloat16 if it says nothing else."""
    training = spec.training
    if training.replicas > 1:
        raise SpecError(
            "trains several runs, and the prediction is for one; leave it out", "training.replicas", training.replicas
        )
    unit = gpus * training.gradient_accumulation * (LARGEST_DIVISOR if training.batch_warmup else 1)
    training = replace(
        training,
        processes=gpus,
        batch=math.ceil(training.batch / unit) * unit,
        batch_warmup=0.0,
        window_warmup=0.0,
        precision="bf16" if training.precision == "auto" else training.precision,
    )
    spec = replace(spec, training=training)
    combinations.check(spec)
    return spec


def measured_step_seconds(spec: Spec, gpus: int, device: torch.device) -> float | None:
    """The time of a step of one GPU on its rows, measured on this device; None if it does not fit there."""
    spec = spec_on(spec, gpus)
    job = Job.prepare(spec, device, even_if_too_large=True)
    if not cost_plan.fits(
        sum(cost_plan.training_memory(job, spec.training.precision).values()), cost_plan.free_memory(device)
    ):
        return None
    return cost_plan.step_seconds(cost_plan.timing_job(job).engine(spec.training.precision), device)


def links_of(nodes: int, gpus_per_node: int, hardware: ClusterHardware) -> Links:
    """The links of a part of the cluster."""
    return Links(
        nodes,
        gpus_per_node,
        hardware.node_gb_per_second * 1e9 * hardware.bandwidth_share,
        hardware.network_gb_per_second * 1e9 * hardware.bandwidth_share,
        hardware.node_latency_us * 1e-6,
        hardware.network_latency_us * 1e-6,
    )


def gathered_bytes(weights: WeightCounts, number_bytes: int, micro_batches: int) -> int:
    """What FSDP2 holds besides the shards: the weights and gradients of the rest, of a block and of the next one.

    With several micro-batches the gradients of all weights are added up before they are sent.
    """
    gradients = weights.trained if micro_batches > 1 else weights.trained_rest + 2 * max(weights.trained_blocks, default=0)
    return number_bytes * (weights.rest + 2 * max(weights.blocks, default=0) + gradients)


def _job_without_data(spec: Spec) -> Job:
    """A job to predict memory with. Its tokenizer has the right size and nothing else."""
    task: Task = check_parts(spec)
    if spec.data.tokenizer_file:
        tokenizer = tokenizers.load(spec.data.tokenizer_file)
    else:
        tokenizer = Characters([UNKNOWN, *[""] * (spec.data.vocabulary - 1)], {UNKNOWN: 0})
    spec = replace(spec, model=task.draft_model(spec.model))
    prepared = PreparedData(tokenizer, {}, "")
    return Job(spec, prepared, task, max(spec.training.steps, 1), torch.device("cuda"))


def _meta_model(job: Job) -> nn.Module:
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
    trained = tuple(_trained(block) for block in blocks)
    return WeightCounts(counts, parameter_counts.parameters(model) - sum(counts), trained, _trained(model) - sum(trained))


def _trained(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


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


def _parallel_plan(
    memory: dict[str, int], times: StepTimes, available: float, gpus: int, tokens: int, steps: int, price: float
) -> ParallelPlan:
    step = (times.fastest, times.slowest)
    hours = [seconds * gpus / 3600 for seconds in step]
    return ParallelPlan(
        memory=memory,
        fits=cost_plan.fits(sum(memory.values()), available),
        compute_seconds=times.compute,
        communication_seconds=times.communication,
        step_seconds=step,
        communication_share=times.waiting_shares,
        tokens_per_second=(tokens / step[0], tokens / step[1]),
        gpu_hours_per_billion_tokens=(hours[0] / tokens * 1e9, hours[1] / tokens * 1e9),
        seconds=(step[0] * steps, step[1] * steps) if steps else None,
        cost=(hours[0] * steps * price, hours[1] * steps * price) if steps and price else None,
    )
