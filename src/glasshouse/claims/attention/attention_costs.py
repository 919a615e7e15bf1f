"""Time and peak memory of one attention, forward and backward, as the sequence grows. Knows no claim.

Arms are timed in rounds, each alone, and every other round reverses their order. The exponent of a round is the slope of the
logarithm of the time against the logarithm of the length, over the two longest lengths.
"""

import math
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from glasshouse.claims.claim import Bench, Series
from glasshouse.parts.attention.base import Attention
from glasshouse.parts.attention.dot_product import MultiHeadAttention
from glasshouse.parts.attention.linformer import LinformerAttention
from glasshouse.parts.attention.local_window import LocalAttention
from glasshouse.parts.attention.performer import PerformerAttention
from glasshouse.records import progress_bar
from glasshouse.training import devices

CPU, CUDA = DEVICES = ("cpu", "cuda")
PLAIN, FUSED, WINDOW, LINFORMER, PERFORMER = KINDS = ("plain", "fused", "local-window", "linformer", "performer")
WIDTH, HEADS = 256, 4
# The setting on which the cost of each efficient attention depends: distance, length of the compressed keys, features.
WINDOW_SIZE, RANK, FEATURES = 128, 64, 64
# A timing repeats a pass until it has taken this long, so that a short pass is not lost in the clock's noise.
LEAST_SECONDS = 0.02
LEAST_PASSES, MOST_PASSES = 2, 20
QUICK_LENGTHS = (16, 32, 64)


@dataclass(frozen=True)
class Costs:
    """Of one arm on one device: length -> seconds in each round, and length -> bytes at the peak."""

    seconds: Mapping[int, Sequence[float]]
    peak_bytes: Mapping[int, float]


def build(kind: str, length: int) -> Attention:
    """One attention of a kind. `plain` is full attention that forms its weights, `fused` the same by a fused kernel."""
    if kind == WINDOW:
        return LocalAttention(WIDTH, HEADS, min(WINDOW_SIZE, max(length // 4, 1)))
    if kind == LINFORMER:
        return LinformerAttention(WIDTH, HEADS, length, min(RANK, length))
    if kind == PERFORMER:
        return PerformerAttention(WIDTH, HEADS, FEATURES)
    attention = MultiHeadAttention(WIDTH, HEADS)
    attention.plain = kind == PLAIN
    return attention


def present(device: str) -> bool:
    return device == CPU or torch.cuda.is_available()


def measure(bench: Bench, device: str, lengths: Mapping[str, Sequence[int]]) -> dict[str, Costs]:
    """Kind -> costs on a device, in as many rounds as the trial has seeds. Cached in the trial's folder.

    Lengths that do not fit into the memory of a GPU are left out.
    """
    chosen = {kind: QUICK_LENGTHS if bench.quick else tuple(row) for kind, row in lengths.items()}
    table = bench.cached(f"costs-{device}-by-{bench.seeds}", lambda: _measure(device, chosen, bench.seeds))
    return {
        kind: Costs(
            {int(length): row for length, row in costs["seconds"].items()},
            {int(length): count for length, count in costs["bytes"].items()},
        )
        for kind, costs in table.items()
    }


def _measure(device: str, lengths: Mapping[str, Sequence[int]], rounds: int) -> dict[str, dict[str, dict[str, object]]]:
    passes = {(kind, length): _pass(kind, length, device) for kind, row in lengths.items() for length in row}
    table: dict[str, dict[str, dict[str, object]]] = {kind: {"seconds": {}, "bytes": {}} for kind in lengths}
    with progress_bar.bar(f"costs of attention on {device}", outer=True) as show:
        for kind, length in list(passes):
            try:
                table[kind]["bytes"][str(length)] = peak_bytes(passes[kind, length], device)
            except torch.OutOfMemoryError:
                del passes[kind, length]
        seconds: dict[tuple[str, int], list[float]] = {arm: [] for arm in passes}
        for number in range(rounds):
            for arm in passes if number % 2 == 0 else reversed(list(passes)):
                seconds[arm].append(pass_seconds(passes[arm], device))
            show((number + 1) / rounds)
    for kind, length in passes:
        table[kind]["seconds"][str(length)] = seconds[kind, length]
    return table


def _pass(kind: str, length: int, device: str) -> Callable[[], None]:
    """A forward and backward pass of one sequence of random vectors: in bfloat16 on a GPU, in float32 on a CPU."""
    dtype = torch.bfloat16 if device == CUDA else torch.float32
    attention: nn.Module = build(kind, length).to(device, dtype)

    def once() -> None:
        x = torch.randn(1, length, WIDTH, device=device, dtype=dtype, requires_grad=True)
        output: Tensor = attention(x)
        output.backward(torch.ones_like(output))
        attention.zero_grad(set_to_none=True)

    return once


def pass_seconds(once: Callable[[], object], device: str) -> float:
    """The time of the fastest of a few passes: other work on the machine can only make a pass slower."""
    target = torch.device(device)
    times: list[float] = []
    while len(times) < LEAST_PASSES or (sum(times) < LEAST_SECONDS and len(times) < MOST_PASSES):
        start = time.perf_counter()
        once()
        devices.synchronise(target)
        times.append(time.perf_counter() - start)
    return min(times)


def peak_bytes(once: Callable[[], None], device: str) -> float:
    """The most memory that a pass holds at one time beyond what was there before it."""
    once()
    if device == CUDA:
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        once()
        torch.cuda.synchronize()
        return float(torch.cuda.max_memory_allocated() - before)
    with _AllocationCount() as count:
        once()
    return float(count.peak)


class _AllocationCount(TorchDispatchMode):
    """Counts the bytes of the tensors that operations make, until each is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._held: dict[int, int] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and (key := (storage := tensor.untyped_storage())._cdata) not in self._held:
                self._held[key] = storage.nbytes()
                weakref.finalize(storage, self._held.pop, key, 0)
        self.peak = max(self.peak, sum(self._held.values()))
        return result


def exponent(costs: Mapping[int, float]) -> float:
    """The slope of log cost against log length from the second longest length to the longest."""
    second, longest = sorted(costs)[-2:]
    return math.log(costs[longest] / costs[second]) / math.log(longest / second)


def time_exponents(costs: Costs) -> Series:
    """Round -> exponent of the time in the length."""
    rounds = range(len(next(iter(costs.seconds.values()))))
    return Series({number: exponent({n: row[number] for n, row in costs.seconds.items()}) for number in rounds})


def milliseconds(costs: Costs, length: int) -> Series:
    """Round -> time of a pass at a length, in milliseconds."""
    return Series({number: seconds * 1e3 for number, seconds in enumerate(costs.seconds[length])})
