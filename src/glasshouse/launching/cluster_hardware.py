"""What a cluster is made of: the speed, memory and price of its GPUs, and its links. Knows nothing of jobs or models."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from glasshouse.specs import catalogue
from glasshouse.specs.errors import LaunchError

EXAMPLE = """\

# What the cluster is made of. `glasshouse doctor RECIPE --cluster 8x8` predicts time and cost from it. These are the
# defaults: nodes of H200 GPUs with one InfiniBand card of 400 Gbit/s for each of eight GPUs.
# [hardware]
# gpu = "H200"                      # where this machine's GPU has this in its name, steps are measured instead
# gpu_memory_gb = 141.0
# gpu_memory_gb_per_second = 4800.0
# peak_tflops = 989.0               # of a GPU, in training.precision (bf16)
# achieved_share = 0.45             # of the peak, in training; measured for GPT-2 124M with torch.compile
# node_gb_per_second = 450.0        # of a GPU to the others of its node, in each direction (NVLink)
# network_gb_per_second = 400.0     # of a node to other nodes, in each direction, over all its network cards
# bandwidth_share = 0.8             # of these two bandwidths that is achieved; 1 if they were measured
# node_latency_us = 3.0             # of a message within a node, in microseconds
# network_latency_us = 8.0          # of a message between nodes
# price_per_gpu_hour = 0.0          # 0: the cost is not printed
"""
_SHAPE = re.compile(r"(0*[1-9]\d*)\s*[xX×]\s*(0*[1-9]\d*)")
# Fields that are shares of something, and fields that may be 0.
SHARES = ("achieved_share", "bandwidth_share")
MAY_BE_ZERO = ("node_latency_us", "network_latency_us", "price_per_gpu_hour")

# Type of a field -> the types that TOML may give for it, and how an error names them.
TYPES: dict[type, tuple[tuple[type, ...], str]] = {
    tuple: ((list,), "a list of texts"),
    str: ((str,), "a text in quotes"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


@dataclass(frozen=True)
class ClusterHardware:
    """The GPUs and links of a cluster: the table `[hardware]` of a cluster file. The defaults describe nodes of H200."""

    gpu: str = "H200"
    gpu_memory_gb: float = 141.0
    gpu_memory_gb_per_second: float = 4800.0
    peak_tflops: float = 989.0
    achieved_share: float = 0.45
    node_gb_per_second: float = 450.0
    network_gb_per_second: float = 400.0
    bandwidth_share: float = 0.8
    node_latency_us: float = 3.0
    network_latency_us: float = 8.0
    price_per_gpu_hour: float = 0.0

    @classmethod
    def from_table(cls, table: Any, where: str) -> "ClusterHardware":
        """The hardware that a TOML table describes. Errors name its file `where`."""
        kinds: dict[str, type] = {field.name: type(field.default) for field in fields(cls)}
        if not isinstance(table, dict):
            raise LaunchError(f"in {where} must be a table; write [hardware] above it", "hardware", table)
        check_lines(table, kinds, f"the table [hardware] in {where}")
        hardware = cls(**{name: kinds[name](value) for name, value in table.items()})
        for field in fields(cls):
            if field.name == "gpu":
                continue
            value = getattr(hardware, field.name)
            rule, allowed = "above 0 and finite", 0 < value < math.inf
            if field.name in SHARES:
                rule, allowed = "above 0 and at most 1", 0 < value <= 1
            elif field.name in MAY_BE_ZERO:
                rule, allowed = "0 or more", 0 <= value < math.inf
            if not allowed:
                raise LaunchError(f"{field.name}={value:g} in [hardware] in {where} is not {rule}; correct this line")
        return hardware


def check_lines(table: Mapping[str, Any], kinds: Mapping[str, type], where: str) -> None:
    """Refuse a line of a TOML table that is unknown or has a value of another type. `kinds`: name -> type."""
    for name, value in table.items():
        if name not in kinds:
            raise LaunchError(
                f"{where} has an unknown line {name!r}{catalogue.did_you_mean(name, kinds)}; the lines are: "
                f"{', '.join(kinds)}"
            )
        types, wanted = TYPES[kinds[name]]
        if type(value) not in types or (kinds[name] is tuple and not all(isinstance(line, str) for line in value)):
            raise LaunchError(f"in {where} must be {wanted}", name, value)


def shape_of(text: str) -> tuple[int, int]:
    """(nodes, GPUs of each node) of a text such as 8x8."""
    found = _SHAPE.fullmatch(text.strip())
    if not found:
        raise LaunchError(
            f"{text!r} is not a number of nodes and of GPUs in each, both at least 1; write for example --cluster 8x8"
        )
    return int(found[1]), int(found[2])
