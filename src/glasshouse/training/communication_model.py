"""How long processes take to exchange gradients and weights: the formulas, from bandwidth and latency. Knows no models.

The collectives are those of a ring (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009): in p - 1 messages
every process sends (p - 1) / p of the bytes. Several nodes work in two levels: within a node, and between nodes with all
network cards of a node at once. Between nodes an all-reduce may also use two binary trees (Sanders, Speck and Träff, 2009),
as NCCL does, whose latency grows with log2 of the nodes instead of their number.
"""

import math
from dataclasses import dataclass, replace

# The bytes of a bucket of gradients that torch's DistributedDataParallel sends at once, unless told otherwise.
BUCKET_BYTES = 25 * 2**20


@dataclass(frozen=True)
class Links:
    """The links of nodes with equally many processes, in bytes per second and seconds. `node_bandwidth` is that of a process
    within its node, `network_bandwidth` that of a node to others; both in each direction."""

    nodes: int
    processes_per_node: int
    node_bandwidth: float
    network_bandwidth: float
    node_latency: float
    network_latency: float

    @property
    def processes(self) -> int:
        return self.nodes * self.processes_per_node

    def all_gather(self, size: float, messages: int = 1) -> float:
        """Seconds until every process has all of `size` bytes, of which each held a share; sent in so many messages. A
        reduce-scatter, after which every process has its share of a sum, is an all-gather backwards and takes as long."""
        within = _ring(self.processes_per_node, size, self.node_bandwidth, messages * self.node_latency)
        return within + _ring(self.nodes, size, self.network_bandwidth, messages * self.network_latency)

    def all_reduce(self, size: float, messages: int = 1) -> float:
        """Seconds until every process has the sum of `size` bytes: a reduce-scatter, then an all-gather."""
        within = 2 * _ring(self.processes_per_node, size, self.node_bandwidth, messages * self.node_latency)
        latency = messages * self.network_latency
        ring = 2 * _ring(self.nodes, size, self.network_bandwidth, latency)
        trees = 2 * (size / self.network_bandwidth + math.ceil(math.log2(self.nodes)) * latency)
        return within + min(ring, trees)


def _ring(count: int, size: float, bandwidth: float, latency: float) -> float:
    """Seconds of one way around a ring."""
    return (count - 1) / count * size / bandwidth + (count - 1) * latency


@dataclass(frozen=True)
class StepTimes:
    """The seconds of a step by purpose. Communication is split by the pass during which it can happen."""

    forward: float
    backward: float
    update: float
    forward_communication: float = 0.0
    backward_communication: float = 0.0

    @property
    def compute(self) -> float:
        return self.forward + self.backward + self.update

    @property
    def communication(self) -> float:
        return self.forward_communication + self.backward_communication

    @property
    def fastest(self) -> float:
        """The lower bound: all communication overlaps with the pass that it belongs to."""
        forward = max(self.forward, self.forward_communication)
        return forward + max(self.backward, self.backward_communication) + self.update

    @property
    def slowest(self) -> float:
        """The upper bound: nothing overlaps."""
        return self.compute + self.communication

    @property
    def waiting_shares(self) -> tuple[float, float]:
        """The share of a step in which a process only waits for others: with full overlap, and with none."""
        fastest, slowest = self.fastest, self.slowest
        return (1 - self.compute / fastest if fastest else 0.0), (self.communication / slowest if slowest else 0.0)


@dataclass(frozen=True)
class WeightCounts:
    """The numbers of weights that are sent: of every block, and of the rest; `trained` are those with gradients."""

    blocks: tuple[int, ...]
    rest: int
    trained_blocks: tuple[int, ...]
    trained_rest: int

    @property
    def total(self) -> int:
        return sum(self.blocks) + self.rest

    @property
    def trained(self) -> int:
        return sum(self.trained_blocks) + self.trained_rest


def replicated_step(compute: StepTimes, weights: WeightCounts, links: Links) -> StepTimes:
    """A step in which all processes hold all weights (DDP): the float32 gradients are all-reduced in buckets."""
    size = 4.0 * weights.trained
    buckets = math.ceil(size / BUCKET_BYTES)
    return replace(compute, backward_communication=links.all_reduce(size, buckets))


def sharded_step(
    compute: StepTimes, weights: WeightCounts, links: Links, number_bytes: int = 2, micro_batches: int = 1
) -> StepTimes:
    """A step in which every process holds a share of the weights (FSDP2).

    Every micro-batch gathers the weights of a block in its forward and its backward pass, and those of the rest once.
    Gradients are reduced and scattered once a step.
    """
    gathered_twice = sum(links.all_gather(number_bytes * block) for block in weights.blocks)
    gathered_once = links.all_gather(number_bytes * weights.rest) if weights.rest else 0.0
    groups = (*weights.trained_blocks, weights.trained_rest)
    scattered = sum(links.all_gather(number_bytes * group) for group in groups if group)
    return replace(
        compute,
        update=compute.update / links.processes,
        forward_communication=micro_batches * (gathered_once + gathered_twice),
        backward_communication=micro_batches * gathered_twice + scattered,
    )
