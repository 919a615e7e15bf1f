"""What a cluster is made of: the speed, memory and price of its GPUs, and its links. Knows nothing of jobs or models."""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glasshouse.specs import catalogue
from glasshouse.specs.errors import LaunchError
from glasshouse.specs.options import Option, option, options_of

_SHAPE = re.compile(r"(0*[1-9]\d*)\s*[xX×]\s*(0*[1-9]\d*)")

# Type of a field -> the types that TOML may give for it, and how an error names them.
TYPES: dict[type, tuple[tuple[type, ...], str]] = {
    tuple: ((list,), "a list of texts"),
    str: ((str,), "a text in quotes"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


@dataclass(frozen=True)
class ClusterHardware:
    """The GPUs and links of a cluster: the table `[hardware]` of a cluster file. The defaults describe nodes of H200.

    A number is above 0, or at least its lower limit.
    """

    gpu: str = option("H200", "where this machine's GPU has this in its name, steps are measured instead")
    gpu_memory_gb: float = option(141.0, "")
    gpu_memory_gb_per_second: float = option(4800.0, "")
    peak_tflops: float = option(989.0, "of a GPU, in training.precision (bf16)")
    achieved_share: float = option(0.45, "of the peak, in training; measured for GPT-2 124M with torch.compile", high=1)
    node_gb_per_second: float = option(450.0, "of a GPU to the others of its node, in each direction (NVLink)")
    network_gb_per_second: float = option(400.0, "of a node to other nodes, in each direction, over all its network cards")
    bandwidth_share: float = option(0.8, "of these two bandwidths that is achieved; 1 if they were measured", high=1)
    node_latency_us: float = option(3.0, "of a message within a node, in microseconds", low=0)
    network_latency_us: float = option(8.0, "of a message between nodes", low=0)
    price_per_gpu_hour: float = option(0.0, "0: the cost is not printed", low=0)

    @classmethod
    def from_table(cls, table: Any, where: str) -> "ClusterHardware":
        """The hardware that a TOML table describes. Errors name its file `where`."""
        if not isinstance(table, dict):
            raise LaunchError(f"in {where} must be a table; write [hardware] above it", "hardware", table)
        lines = {line.name: line for line in options_of(cls)}
        check_lines(table, {name: line.hint for name, line in lines.items()}, f"the table [hardware] in {where}")
        hardware = cls(**{name: lines[name].hint(value) for name, value in table.items()})
        for line in lines.values():
            if line.hint is str:
                continue
            value, most = getattr(hardware, line.name), line.high or sys.float_info.max
            if not (value > 0 or value == line.low) or value > most:
                rule = "0 or more" if line.low == 0 else "above 0 and at most 1" if line.high else "above 0 and finite"
                raise LaunchError(f"{line.name}={value:g} in [hardware] in {where} is not {rule}; correct this line")
        return hardware


def _example_line(line: Option) -> str:
    comment = f"# {line.text}" if line.text else ""
    return f"# {line.name} = {json.dumps(line.default)}".ljust(36) + comment


EXAMPLE = """
# What the cluster is made of. `glasshouse doctor RECIPE --cluster 8x8` predicts time and cost from it. These are the
# defaults: nodes of H200 GPUs with one InfiniBand card of 400 Gbit/s for each of eight GPUs.
# [hardware]
""" + "".join(f"{_example_line(line).rstrip()}\n" for line in options_of(ClusterHardware))


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
