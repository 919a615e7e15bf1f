"""Claim: the time of self-attention is quadratic in the length; its memory too, unless a fused kernel computes it."""

from collections.abc import Mapping
from typing import ClassVar

from glasshouse.claims.attention import attention_costs
from glasshouse.claims.attention.attention_costs import CPU, CUDA, DEVICES, FUSED, PLAIN, WINDOW
from glasshouse.claims.claim import GROUPS, Bench, Claim, LineFigure, Measurements, Quantity, Series
from glasshouse.claims.random_check import RANDOM_NUMBERS
from glasshouse.claims.rules import equal, zero

PATHS = (PLAIN, FUSED)
# Up to the longest whose pass fits into the memory of one H200, or takes a second or 4 GB on a CPU. The plain path forms
# n x n weights for each head.
LENGTHS: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    CPU: {
        PLAIN: (256, 512, 1024, 2048, 4096, 8192),
        FUSED: (256, 512, 1024, 2048, 4096, 8192, 16384),
        WINDOW: (1024, 2048, 4096, 8192, 16384),
    },
    CUDA: {
        PLAIN: (1024, 2048, 4096, 8192, 16384, 32768, 65536),
        FUSED: (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144),
        WINDOW: (16384, 32768, 65536, 131072, 262144),
    },
}
# At an exponent that differs by this much, doubling the length costs 15 % more or less than claimed.
MARGIN = 0.2
# Exponents that theory gives: of time and of memory.
TIME: Mapping[str, float] = {PLAIN: 2.0, FUSED: 2.0, WINDOW: 1.0}
MEMORY: Mapping[str, float] = {PLAIN: 2.0, FUSED: 1.0, WINDOW: 1.0}


class QuadraticCost(Claim):
    """Times one attention of growing length by both paths, on a CPU and on a GPU, and counts its peak memory."""

    group = GROUPS[0]
    statement = (
        "The time of self-attention grows with the square of the sequence length; so does the memory of the plain path, "
        "while that of a fused kernel grows in proportion to the length."
    )
    source = "course work on attention"
    reported = "O(n^2 h)"
    why = (
        "Each of n tokens is compared with n tokens, at h operations a pair; projections add n h^2. The plain path stores "
        "a weight for each pair and head. A fused kernel keeps a block of them at a time."
    )
    procedure = (
        "One attention of width 256 with 4 heads runs forward and backward on one sequence without a mask, in float32 on a "
        "CPU and in bfloat16 on a GPU, by the plain path and by torch's fused kernel. The exponent of the length is the "
        "slope of log time against log length over the longest doubling, in each round over all lengths and paths. It must "
        "be 2 for the time of both paths and the memory of the plain one, and 1 for the memory of the fused "
        f"one, to within {MARGIN:g}. A local window of 128 tokens, whose exponent is known to be 1, is measured beside them."
    )
    would_change = (
        "Shorter sequences: there n h^2 and the time to launch kernels dominate, and the exponent is lower. The picture "
        "shows where it turns."
    )
    data = RANDOM_NUMBERS
    looks = (16,)
    quantities: ClassVar[Mapping[str, Quantity]] = {
        **{
            f"{cost}/{device}/{path}": Quantity(
                f"exponent of the {'time' if cost == 'time' else 'peak memory'}, {path}, {device}",
                "slope of log-log",
                per="round" if cost == "time" else "trial",
            )
            for cost in ("time", "memory")
            for device in DEVICES
            for path in (*PATHS, WINDOW)
        },
        **{
            f"memory-off/{device}/{path}": Quantity(
                f"whether the exponent of the peak memory is off by more than {MARGIN:g}, {path}, {device}",
                "0: no, 1: yes",
                per="trial",
            )
            for device in DEVICES
            for path in (*PATHS, WINDOW)
        },
        **{
            f"ms/{device}/{path}/{length}": Quantity(
                f"time at {length:,} tokens, {path}, {device}", "milliseconds", "ms", per="round"
            )
            for device in DEVICES
            for path, lengths in LENGTHS[device].items()
            for length in lengths
        },
        **{
            f"mb/{device}/{path}/{length}": Quantity(
                f"peak memory at {length:,} tokens, {path}, {device}", "megabytes", "MB", per="trial"
            )
            for device in DEVICES
            for path, lengths in LENGTHS[device].items()
            for length in lengths
        },
    }
    parts = (
        *(
            equal(
                f"time/{device}/{path}",
                to=TIME[path],
                margin=MARGIN,
                name=f"time on {device}, {path}: exponent {TIME[path]:g}{' (known)' if path == WINDOW else ''}",
                setting=device,
                decides=path != WINDOW,
            )
            for device in DEVICES
            for path in (*PATHS, WINDOW)
        ),
        *(
            zero(
                f"memory-off/{device}/{path}",
                name=f"memory on {device}, {path}: exponent {MEMORY[path]:g}{' (known)' if path == WINDOW else ''}",
                setting=device,
                decides=path != WINDOW,
            )
            for device in DEVICES
            for path in (*PATHS, WINDOW)
        ),
    )
    figures = tuple(
        LineFigure(
            f"{cost}-{device}",
            "tokens",
            f"{label} on a {device.upper() if device == CPU else 'GPU'}",
            {path: {n: f"{key}/{device}/{path}/{n}" for n in lengths} for path, lengths in LENGTHS[device].items()},
        )
        for device in DEVICES
        for cost, key, label in (("time", "ms", "milliseconds"), ("memory", "mb", "megabytes at the peak"))
    )

    def measure(self, bench: Bench) -> Measurements:
        series: dict[str, Series] = {}
        for device in filter(attention_costs.present, DEVICES):
            for path, costs in attention_costs.measure(bench, device, LENGTHS[device]).items():
                series[f"time/{device}/{path}"] = attention_costs.time_exponents(costs)
                memory = attention_costs.exponent(costs.peak_bytes)
                series[f"memory/{device}/{path}"] = Series({0: memory})
                # Peak memory is counted and has no noise, so it is judged without statistics.
                series[f"memory-off/{device}/{path}"] = Series({0: float(abs(memory - MEMORY[path]) > MARGIN)})
                for length, count in costs.peak_bytes.items():
                    if length in LENGTHS[device][path]:
                        series[f"ms/{device}/{path}/{length}"] = attention_costs.milliseconds(costs, length)
                        series[f"mb/{device}/{path}/{length}"] = Series({0: count / 2**20})
        return Measurements(series)
