"""The options of plans and fits of scaling laws, each declared once for the commands and the functions."""

from dataclasses import dataclass

from glasshouse.specs import options
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec_fields import setting

RESAMPLES = 1000
SWEEP, RECIPE = RATES = ("sweep", "recipe")


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """What a scaling study trains at its budgets. A parabola needs four sizes at each."""

    sizes: int = setting(6, "The number of sizes at each budget.", minimum=4, maximum=1000)
    seeds: int = setting(3, "The number of seeds of each size.", minimum=1, maximum=10_000)
    name: str | None = setting(None, "The name of the study; default: scaling-RECIPE.")
    tokens_per_parameter: float = setting(
        20.0, "Tokens for each parameter at the middle size of a budget.", minimum=0.01, maximum=10**6
    )
    spread: float = setting(4.0, "How many times the outer sizes differ from the middle one.", minimum=1.1, maximum=10**6)
    most_epochs: float = setting(300.0, "Refuse to read the data more often than this.", minimum=0.01, maximum=10**6)
    rates: str = setting(
        SWEEP,
        "A learning rate for each size, by a sweep at two sizes; or the recipe's for all, which is biased.",
        "sweep|recipe",
        choices=RATES,
    )

    def __post_init__(self) -> None:
        options.check(self, SpecError)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How a file of measurements is read, and what is fitted to it. A scaling study needs none of the columns."""

    parameters: str = setting("parameters", "The column of the number of parameters.", "COLUMN")
    tokens: str = setting("tokens", "The column of the number of training tokens.", "COLUMN")
    loss: str = setting("loss", "The column of the loss.", "COLUMN")
    flops: str | None = setting(
        None, "The column of the compute in FLOPs; default: 6 N D. NAME*1e12 multiplies any column.", "COLUMN"
    )
    curve: str | None = setting(None, "Rows with the same value in this column are one training curve.", "COLUMN")
    budgets: str | None = setting(
        None, "FLOPs at which runs are compared; default: where several runs have the same.", "C,C,..."
    )
    data: float | None = setting(None, "How many tokens the data have, if they are repeated.", "TOKENS", maximum=1e30)
    resamples: int = setting(RESAMPLES, "The number of resamples behind the intervals.", minimum=20, maximum=10**6)

    def __post_init__(self) -> None:
        options.check(self, DataError)
