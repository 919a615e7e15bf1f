"""The options of a fit of scaling laws, each declared once for the commands and the functions."""

from dataclasses import dataclass

from glasshouse.specs import options
from glasshouse.specs.errors import DataError
from glasshouse.specs.options import option

RESAMPLES = 1000


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How a file of measurements is read, and what is fitted to it. A scaling study needs none of the columns."""

    parameters: str = option("parameters", "The column of the number of parameters.", "COLUMN")
    tokens: str = option("tokens", "The column of the number of training tokens.", "COLUMN")
    loss: str = option("loss", "The column of the loss.", "COLUMN")
    flops: str | None = option(
        None,
        "The column of the compute in FLOPs; default: 6 N D. NAME*1e12 multiplies any column.",
        "COLUMN",
    )
    curve: str | None = option(None, "Rows with the same value in this column are one training curve.", "COLUMN")
    budgets: str | None = option(
        None, "FLOPs at which runs are compared; default: where several runs have the same.", "C,C,..."
    )
    data: float | None = option(None, "How many tokens the data have, if they are repeated.", "TOKENS", high=1e30)
    resamples: int = option(RESAMPLES, "The number of resamples behind the intervals.", low=20, high=10**6)

    def __post_init__(self) -> None:
        options.check(self, DataError)
