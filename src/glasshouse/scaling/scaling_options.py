"""The options of plans and fits of scaling laws, each declared once for the commands and the functions."""

from dataclasses import dataclass

from glasshouse.specs import options
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.options import option

RESAMPLES = 1000
SWEEP, RECIPE = RATES = ("sweep", "recipe")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a scaling study trains at its budgets. A parabola needs four sizes at each."""

    sizes: int = option(6, "The number of sizes at each budget.", low=4, high=1000)
    seeds: int = option(3, "The number of seeds of each size.", low=1, high=10_000)
    name: str | None = option(None, "The name of the study; default: scaling-RECIPE.")
    tokens_per_parameter: float = option(
        20.0, "Tokens for each parameter at the middle size of a budget.", low=0.01, high=10**6
    )
    spread: float = option(4.0, "How many times the outer sizes differ from the middle one.", low=1.1, high=10**6)
    most_epochs: float = option(300.0, "Refuse to read the data more often than this.", low=0.01, high=10**6)
    rates: str = option(
        SWEEP,
        "A learning rate for each size, by a sweep at two sizes; or the recipe's for all, which is biased.",
        "sweep|recipe",
    )

    def __post_init__(self) -> None:
        options.check(self, SpecError)
        if self.rates not in RATES:
            raise SpecError(f"is neither {' nor '.join(RATES)}; choose one of them", "rates", self.rates)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How a file of measurements is read, and what is fitted to it. A scaling study needs none of the columns."""

    parameters: str = option("parameters", "The column of the number of parameters.", "COLUMN")
    tokens: str = option("tokens", "The column of the number of training tokens.", "COLUMN")
    loss: str = option("loss", "The column of the loss.", "COLUMN")
    flops: str | None = option(
        None, "The column of the compute in FLOPs; default: 6 N D. NAME*1e12 multiplies any column.", "COLUMN"
    )
    curve: str | None = option(None, "Rows with the same value in this column are one training curve.", "COLUMN")
    budgets: str | None = option(
        None, "FLOPs at which runs are compared; default: where several runs have the same.", "C,C,..."
    )
    data: float | None = option(None, "How many tokens the data have, if they are repeated.", "TOKENS", high=1e30)
    resamples: int = option(RESAMPLES, "The number of resamples behind the intervals.", low=20, high=10**6)

    def __post_init__(self) -> None:
        options.check(self, DataError)
