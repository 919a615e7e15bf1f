"""A public function that describes this machine and measures the speed of its matrix products."""

from dataclasses import dataclass

from glasshouse.records import machine
from glasshouse.training import devices
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
