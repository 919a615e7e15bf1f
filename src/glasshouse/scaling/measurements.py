"""Measured losses of models: parameters, tokens, compute and loss of each. Read from a CSV file of any origin.

N parameters, D tokens, C compute in FLOPs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glasshouse.data.tables import reading
from glasshouse.data.tables.table import TableFormat
from glasshouse.specs.errors import DataError


class FewSizes(DataError):
    """Measurements of too few sizes of models for a law."""


Array = NDArray[np.float64]
# Forward and backward pass: 2 and 4 FLOPs for each parameter and token (Kaplan et al., 2020).
FLOPS_PER_PARAMETER_AND_TOKEN = 6.0
# Measurements whose compute differs by less than this share belong to one budget.
SAME_BUDGET = 0.1
LEAST_MEASUREMENTS = 6
# Values beyond these are no measurements, and their products and ratios would leave the range of a float. Parameters and
# tokens may be counted in any unit.
LEAST_VALUE, MOST_VALUE = 1e-20, 1e30
LEAST_FLOPS, MOST_FLOPS = 1e-40, 1e40


@dataclass(frozen=True)
class MeasuredLosses:
    """One entry for each measured loss.

    runs: the number of the run that a loss belongs to; several losses of one run are points of its training curve.
    budgets: the budget of each loss; empty unless runs were planned for budgets or are compared at them.
    counted: how parameters were counted, if that is known; see `compute_optimal.COUNTS`.
    """

    parameters: Array
    tokens: Array
    flops: Array
    losses: Array
    runs: NDArray[np.int64]
    budgets: Array = field(default_factory=lambda: np.empty(0))
    counted: str = "all"

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def sizes(self) -> int:
        return len(np.unique(self.parameters))

    @property
    def curves(self) -> bool:
        """Whether the runs have several measurements each."""
        return len(np.unique(self.runs)) < len(self)

    def at_budgets(self, budgets: Sequence[float]) -> "MeasuredLosses":
        """The measurements at given budgets.

        Along a training curve the logarithm of the loss is interpolated in log C. A run that does not reach a budget is left
        out there. Without curves, a measurement belongs to a budget if its compute is nearly the same.
        """
        rows: list[tuple[float, float, float, float, int]] = []
        for budget in budgets:
            for run in np.unique(self.runs):
                own = np.flatnonzero(self.runs == run)
                own = own[np.argsort(self.flops[own])]
                flops = self.flops[own]
                if len(own) == 1:
                    if abs(math.log(flops[0] / budget)) > SAME_BUDGET:
                        continue
                elif not flops[0] <= budget <= flops[-1] * (1 + 1e-9):
                    continue
                place, known = math.log(budget), np.log(flops)
                at_tokens, at_loss = (
                    np.exp(np.interp(place, known, np.log(each[own]))) for each in (self.tokens, self.losses)
                )
                rows.append((float(self.parameters[own[0]]), float(at_tokens), budget, float(at_loss), int(run)))
        if not rows:
            raise DataError(
                f"no run reaches a budget of {', '.join(f'{budget:.3g}' for budget in budgets)} FLOPs; name budgets from "
                f"{self.flops.min():.3g} to {self.flops.max():.3g}"
            )
        parameters, tokens, flops, losses, runs = np.array(rows).T
        numbers = np.unique(runs, return_inverse=True)[1].astype(np.int64)
        return MeasuredLosses(parameters, tokens, flops, losses, numbers, flops)

    def found_budgets(self) -> list[float]:
        """Budgets at which several measurements have nearly the same compute."""
        ordered = np.sort(self.flops)
        groups = np.split(ordered, np.flatnonzero(np.diff(np.log(ordered)) > SAME_BUDGET) + 1)
        return [float(np.exp(np.log(group).mean())) for group in groups if len(group) >= 3]


def read_csv(
    path: str | Path, parameters: str, tokens: str, loss: str, flops: str | None = None, curve: str | None = None
) -> MeasuredLosses:
    """Read measurements from columns of a CSV file, or of another table.

    A column may have a factor: "tokens_millions*1e6". Without `flops`, C = 6 N D. Rows that have the same value of `curve`
    are points of one training curve; without it every row is a run of its own.
    """
    table = reading.read(Path(path), TableFormat(header="yes"))
    rows = list(table.rows())
    if len(rows) < LEAST_MEASUREMENTS:
        raise DataError(f"{path} has {len(rows)} rows, and a scaling law needs at least {LEAST_MEASUREMENTS}; measure more")
    cells = dict(zip(table.names, zip(*rows, strict=True), strict=True))

    def column(name: str) -> Sequence[str]:
        if name not in cells:
            raise DataError(f"{path} has no column {name!r}; its columns are: {table.listing()}")
        return cells[name]

    def numbers(name: str) -> Array:
        name, _, factor = name.partition("*")
        return np.array([_number(text) for text in column(name)]) * (_number(factor) if factor else 1.0)

    asked = {"parameters": parameters, "tokens": tokens, "loss": loss, **({"flops": flops} if flops else {})}
    found = {quantity: numbers(name) for quantity, name in asked.items()}
    found.setdefault("flops", FLOPS_PER_PARAMETER_AND_TOKEN * found["parameters"] * found["tokens"])
    for quantity, values in found.items():
        least, most = (LEAST_FLOPS, MOST_FLOPS) if quantity == "flops" else (LEAST_VALUE, MOST_VALUE)
        if len(bad := np.flatnonzero(~((values >= least) & (values <= most)))):
            remedies = ("correct or remove it", f"give the column a factor, such as {asked.get(quantity, quantity)}*1e6")
            problem = f"{quantity} is {values[bad[0]]:g} and must be a number from {least:g} to {most:g}"
            raise table.wrong(bad.tolist(), problem, remedies)
    runs = np.arange(len(rows)) if curve is None else np.unique(np.array(column(curve)), return_inverse=True)[1]
    return MeasuredLosses(found["parameters"], found["tokens"], found["flops"], found["loss"], runs.astype(np.int64))


def _number(text: str) -> float:
    """NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def to_csv(measured: MeasuredLosses) -> str:
    """The measurements as the text of a CSV file, with the columns that `read_csv` reads by default."""
    columns = zip(measured.parameters, measured.tokens, measured.losses, measured.flops, measured.runs, strict=True)
    rows = [f"{size:.0f},{tokens:.0f},{loss:.6g},{flops:.6g},{run}" for size, tokens, loss, flops, run in columns]
    return "\n".join(["parameters,tokens,loss,flops,run", *rows, ""])
