"""The predicted cost of a run on a cluster, and what to say about it: its assumptions, and warnings with a remedy."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from glasshouse.formatting import count, duration, percent, size
from glasshouse.launching.cluster_hardware import ClusterHardware
from glasshouse.specs.spec import Spec
from glasshouse.training.parallelism import REPLICATE

# AdamW reads a weight, its gradient and two moments, and writes all but the gradient: seven numbers of four bytes.
UPDATE_BYTES = 28
# The other kind of parallelism is named if it saves at least this share of a step.
WORTH_A_CHANGE = 0.1
# A GPU with fewer tokens at once is unlikely to reach the achieved share.
FEW_TOKENS = 8192


@dataclass(frozen=True)
class ParallelPlan:
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
    plans: dict[str, ParallelPlan]
    chosen: str
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node

    @property
    def best(self) -> ParallelPlan:
        """The plan of the chosen parallelism."""
        return self.plans[self.chosen]

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def warnings(plan: ClusterPlan, asked: Spec, spec: Spec) -> list[str]:
    """What would go wrong, or waste most of the GPUs, each with its remedy."""
    found, best, training = [], plan.best, asked.training
    if training.batch < plan.gpus:
        found.append(
            f"training.batch={training.batch} has less than one sequence for each of {plan.gpus} GPUs and would be refused; "
            f"all figures are for training.batch={plan.batch}"
        )
    elif training.batch != plan.batch:
        parts = f" x training.gradient_accumulation={plan.micro_batches}" if plan.micro_batches > 1 else ""
        found.append(
            f"training.batch={training.batch} cannot be divided among {plan.gpus} GPUs{parts} and would be refused; "
            f"all figures are for training.batch={plan.batch}"
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
    """That the memory of a GPU is too small, and what to change."""
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


def assumptions(plan: ClusterPlan, spec: Spec) -> list[str]:
    """What the prediction takes for granted."""
    hardware, per_node = plan.hardware, plan.gpus_per_node
    source = (
        "a step measured on this machine" + (", without torch.compile" if spec.training.compile else "")
        if plan.measured
        else f"{percent(hardware.achieved_share)} of {hardware.peak_tflops:g} TFLOP/s, whatever the batch"
    )
    found = [
        f"computing: {source}; texts are as long as data.context; no evaluations or checkpoints",
        f"update: {UPDATE_BYTES} bytes for each weight pass a GPU's memory, at {hardware.gpu_memory_gb_per_second:g} GB/s",
    ]
    if plan.gpus == 1:
        return found
    within = f"ring within a node of {per_node} at {hardware.node_gb_per_second:g} GB/s and {hardware.node_latency_us:g} µs"
    between = (
        f"then ring or trees between {plan.nodes} nodes at {hardware.network_gb_per_second:g} GB/s for each and "
        f"{hardware.network_latency_us:g} µs"
    )
    links = [within] * (per_node > 1) + [between] * (plan.nodes > 1)
    number_bytes = 2 if plan.precision == "bf16" else 4
    return [
        *found,
        f"links: {', '.join(links).removeprefix('then ')}; {percent(hardware.bandwidth_share)} of these bandwidths",
        "all-reduce of B bytes among p: 2 (p - 1) / p x B / bandwidth + 2 (p - 1) x latency",
        "all-gather and reduce-scatter: half of that",
        "replicate: one all-reduce of the gradients in 4 bytes, in buckets of 25 MiB",
        f"shard: all-gather of every block twice and reduce-scatter once, in {number_bytes} bytes",
        "bounds: communication overlaps fully with the pass that it belongs to, or not at all",
    ]
