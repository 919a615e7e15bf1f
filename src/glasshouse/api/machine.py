"""This machine: what it is and how fast it multiplies matrices."""

from dataclasses import dataclass

from glasshouse.records import machine
from glasshouse.training import devices
from glasshouse.training.matmul_speed import FORMATS, matrix_rate


@dataclass(frozen=True)
class Diagnosis:
    """What this machine is (`facts`), and the FLOP/s of its matrix products by number format (`rates`)."""

    facts: dict[str, str]
    rates: dict[str, float]


def doctor(device: str = "auto") -> Diagnosis:
    """Look at this machine and measure its matrix products."""
    chosen = devices.pick(device)
    size = 512 if chosen.type == "cpu" else 8192
    rates = {name: matrix_rate(chosen, name, size) for name in FORMATS}
    return Diagnosis(machine.describe(str(chosen)), rates)
