"""Public functions that describe this machine, and predict the cost of a recipe on a cluster."""

from dataclasses import dataclass
from typing import Any

import torch

from glasshouse.launching import cluster_hardware, cluster_settings
from glasshouse.records import machine
from glasshouse.runs.resolve_spec import spec_of
from glasshouse.specs.errors import SpecError
from glasshouse.training import cluster_prediction, devices
from glasshouse.training.cluster_plan import ClusterPlan
from glasshouse.training.matmul_speed import FORMATS, matmul_flop_rate


@dataclass(frozen=True)
class Diagnosis:
    """A description of this machine (`facts`), and the FLOP/s of its matrix products by number format (`rates`)."""

    facts: dict[str, str]
    rates: dict[str, float]


def doctor(device: str = "auto") -> Diagnosis:
    """Describe this machine and measure the speed of its matrix products."""
    chosen = devices.pick(device)
    size = 512 if chosen.type == "cpu" else 8192
    rates = {name: matmul_flop_rate(chosen, name, size) for name in FORMATS}
    return Diagnosis(machine.describe(str(chosen)), rates)


def plan_cluster(
    recipe: str, *overrides: str, cluster: str, device: str = "auto", **sections: dict[str, Any]
) -> ClusterPlan:
    """Predict the cost of training a recipe on a cluster, without allocating the model or reading its data.

    `cluster` is the number of nodes and of GPUs in each, such as "8x8". The hardware is that of the cluster file
    (see `cluster_example`), or nodes of H200 GPUs. If the GPU of this machine is of the same kind, a step is measured.
    """
    nodes, gpus_per_node = cluster_hardware.shape_of(cluster)
    hardware = cluster_settings.load().hardware
    here, measured = devices.pick(device), None
    try:
        spec, has_data = spec_of(recipe, *overrides, **sections), True
    except SpecError as error:
        if error.code != "no-data":
            raise
        # Nothing is read, so any name of a file will do.
        spec, has_data = spec_of(recipe, *overrides, "data.files=none", **sections), False
    if has_data and here.type == "cuda" and hardware.gpu.lower() in torch.cuda.get_device_name(here).lower():
        measured = cluster_prediction.measured_step_seconds(spec, nodes * gpus_per_node, here)
    return cluster_prediction.make(spec, nodes, gpus_per_node, hardware, measured)
