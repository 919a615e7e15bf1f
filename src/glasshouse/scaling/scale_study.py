"""A scaling study on disk: a folder with `scaling.json` and a run for each size, budget and seed.

The plan is written before the first run. A sweep at two sizes gives every size its learning rate, by a power law in N
through their best rates: one rate for all would favour the sizes that it suits. The losses of the largest budget are
predicted from the smaller ones before its first run (`budget_forecast`). Runs of one shape and budget train
together as replicas where that is faster. The same command continues a study that was interrupted.
"""

import math
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from glasshouse import formatting
from glasshouse.records import containment, kept_json, user_paths
from glasshouse.records.kept_schema import Also, Between, Count, Seconds, Seed, Size, Step, Text, as_type
from glasshouse.records.run_folder import RunFolder
from glasshouse.scaling import compute_optimal
from glasshouse.scaling.measurements import FLOPS_PER_PARAMETER_AND_TOKEN, MeasuredLosses
from glasshouse.scaling.scaling_fit import MOST_FLOPS
from glasshouse.specs.errors import RunError
from glasshouse.studies import run_queue, study_folder, study_values
from glasshouse.studies.study_folder import ArmFacts
from glasshouse.version import __version__

FILE, FORMAT = "scaling.json", 1
ONE_RATE = "every size has the same learning rate: the study is biased towards the sizes that this rate suits"
Flops = Annotated[float, Between(1, MOST_FLOPS)]
Amount = Annotated[int, Between(1, 1e30)]
Rate = Annotated[float, Between(0, 1e6)]
EXACT, SIX_ND = FLOP_COUNTS = ("exact", "6ND")
# The rates of a sweep, as multiples of the recipe's.
FACTORS = tuple(2.0**power for power in range(-3, 4))
# At most so many rates are added beyond the edge of a sweep, each twice or half the one at the edge.
EXTENSIONS = 3
DIGITS = 3


@dataclass(frozen=True)
class SweptSize:
    """A size with the rate at which its loss is lowest. `at_edge`: no lower, or no higher rate was tried."""

    parameters: float
    rate: float
    at_edge: bool


@dataclass(frozen=True)
class RateRule:
    """The power law through the best rates of a small and a large size."""

    small: SweptSize
    large: SweptSize

    @property
    def exponent(self) -> float:
        return math.log(self.large.rate / self.small.rate) / math.log(self.large.parameters / self.small.parameters)

    def rate(self, parameters: float) -> float:
        """The learning rate of a size, rounded so that it is the same on every machine."""
        rate = self.small.rate * (parameters / self.small.parameters) ** self.exponent
        return float(f"{rate:.{DIGITS}g}")

    def __str__(self) -> str:
        rule = " and ".join(f"{each.rate:.2g} for {formatting.count(each.parameters)}" for each in (self.small, self.large))
        edge = "; a best rate lies at the edge of the sweep" if self.small.at_edge or self.large.at_edge else ""
        law = f"proportional to N^{self.exponent:.2f}"
        return f"each size has its own learning rate, {law}: {rule} parameters, by a sweep{edge}"


@dataclass(frozen=True)
class SizeRuns:
    """One size at one budget, as it is trained: its spec, its counts, and how many runs may train together.

    saved_flops: the compute of steps that a run takes over from the run for the next smaller budget.
    """

    name: Text
    budget: Flops
    spec: str  # as TOML
    parameters: dict[str, Amount]
    tokens: Amount
    steps: Step
    flops: Flops
    epochs: Annotated[float, Between(0, 1e12)]
    facts: Annotated[dict[str, Any], Also(ArmFacts)]
    replicas: Annotated[int, Between(1, 1e6)] = 1
    saved_flops: Annotated[float, Between(0, MOST_FLOPS)] = 0.0


@dataclass(frozen=True)
class ScaleStudy:
    """A scaling study: everything that was decided before its runs, which `scaling.json` holds, and its folder.

    seconds: the predicted time of all runs on the machine of the plan. swept: the sizes at which the learning rates `rates`
    are tried; none if every size has the recipe's rate.
    """

    words: Annotated[tuple[str, ...], Size(1)]
    metric: Text
    seeds: Annotated[tuple[Seed, ...], Size(1, 10**5)]
    train_tokens: Count
    sizes: Annotated[tuple[SizeRuns, ...], Size(1, 10**5)]
    seconds: Seconds
    notes: tuple[str, ...]
    swept: tuple[SizeRuns, ...] = ()
    rates: tuple[Rate, ...] = ()
    path: Path = Path()

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def budgets(self) -> list[float]:
        return sorted({size.budget for size in self.sizes})

    @property
    def flops(self) -> float:
        """The compute of all runs, those of the sweep included, without what they share."""
        sweep = len(self.rates) * sum(size.flops for size in self.swept)
        return sweep + len(self.seeds) * sum(size.flops - size.saved_flops for size in self.sizes)

    @property
    def saved_flops(self) -> float:
        """The compute of the steps that runs share."""
        return len(self.seeds) * sum(size.saved_flops for size in self.sizes)

    def run(self, size: SizeRuns, seed: int) -> RunFolder:
        return self._within(f"{size.budget:.3g}", size.name, f"seed-{seed}")

    def sweep_run(self, size: SizeRuns, rate: float) -> RunFolder:
        return self._within("learning-rates", size.name, f"{rate:.3g}")

    def _within(self, *names: str) -> RunFolder:
        return RunFolder(containment.folder_within(self.path, names, self.path / FILE))

    def runs(self) -> list[RunFolder]:
        """All runs of sizes and seeds, without the sweep."""
        return [self.run(size, seed) for size in self.sizes for seed in self.seeds]

    def ended(self) -> int:
        return sum(run_queue.status(run) in run_queue.ENDED for run in self.runs())


def is_study_name(name: str | os.PathLike[str]) -> bool:
    """Whether a name means a scaling study, and not a file: a path that is no file and has no suffix of one."""
    path = user_paths.checked(name, "a scaling study")
    return _folder(path) is not None or not (path.is_file() or path.suffix)


def find(name: str | os.PathLike[str]) -> ScaleStudy:
    """The scaling study with that name in the studies folder, or at that path."""
    if (path := _folder(user_paths.checked(name, "a scaling study"))) is not None:
        return _from_json(path)
    known = names()
    listing = f"there are: {', '.join(known)}" if known else "make one with: glasshouse scale plan RECIPE --budgets ..."
    raise RunError(f"there is no scaling study {str(name)!r} in {study_folder.root()}; {listing}")


def names() -> list[str]:
    folders = [file.parent.name for file in study_folder.root().glob(f"*/{FILE}")]
    return sorted(name for name in folders if not name.startswith("."))


def on_data(fingerprint: str | None) -> str:
    """The name of the only scaling study on these data."""
    found = [name for name in names() if find(name).sizes[0].facts.get("data") == fingerprint]
    if len(found) != 1:
        listing = f"several have: {', '.join(found)}" if found else "none has"
        raise RunError(f"no single scaling study has the data of this run ({listing}); name one with --against STUDY|CSV")
    return found[0]


def _folder(name: Path) -> Path | None:
    return next((path for path in (study_folder.root() / name, name) if (path / FILE).exists()), None)


def swept_rates(study: ScaleStudy, size: SizeRuns) -> list[float]:
    """The learning rates that the sweep tries at a size, so far. Where the best lies at the edge, more follow at the end."""
    rates = list(study.rates)
    for _ in range(EXTENSIONS):
        losses = _swept_losses(study, size, rates)
        best = None if None in losses.values() else best_rate(1.0, losses)
        if best is None or not best.at_edge:
            break
        step = 2.0 if best.rate == max(rates) else 0.5
        rates.append(float(f"{best.rate * step:.3g}"))
    return rates


def best_rate(parameters: float, losses: Mapping[float, float]) -> SweptSize | None:
    """The rate with the lowest loss, by a parabola in log rate through the best tried rate and its neighbours.

    losses: rate -> loss, NaN if the run diverged. None if all did.
    """
    rates = sorted(rate for rate, loss in losses.items() if math.isfinite(loss))
    if not rates:
        return None
    place = min(range(len(rates)), key=lambda index: losses[rates[index]])
    if place in (0, len(rates) - 1):
        # A higher rate that diverged is an edge as well as one that was not tried, but nothing is missing there.
        tried = sorted(losses)
        return SweptSize(parameters, rates[place], rates[place] in (tried[0], tried[-1]))
    return SweptSize(parameters, _vertex(rates[place - 1 : place + 2], losses), False)


def _vertex(rates: Sequence[float], losses: Mapping[float, float]) -> float:
    x = np.log(rates)
    curvature, slope, _ = np.polyfit(x - x[1], [losses[rate] for rate in rates], 2)
    if curvature <= 0:
        return rates[1]
    return float(np.exp(np.clip(x[1] - slope / (2 * curvature), x[0], x[2])))


def _swept_losses(study: ScaleStudy, size: SizeRuns, rates: Sequence[float]) -> dict[float, Any]:
    """Rate -> loss; NaN if the run diverged, None if it has not ended."""
    return {rate: study_values.final_value(study.sweep_run(size, rate), study.metric) for rate in rates}


def learning_rates(study: ScaleStudy) -> RateRule | None:
    """The rule that gives each size its learning rate; None if all have the recipe's, or the sweep has not ended."""
    found = []
    for size in study.swept:
        losses = _swept_losses(study, size, swept_rates(study, size))
        if None in losses.values():
            return None
        best = best_rate(size.parameters[compute_optimal.WITH_HEAD], losses)
        if best is None:
            raise RunError(f"{size.name} diverged at every learning rate; plan again with a lower training.learning_rate")
        found.append(best)
    return RateRule(*found) if found else None


def notes(study: ScaleStudy) -> list[str]:
    """What a reader of the fit should know of the runs: how many are left, and their learning rates."""
    found = []
    if left := len(study.runs()) - study.ended():
        found.append(f"{left} runs of the study have not ended")
    rule = learning_rates(study)
    found.append(str(rule) if rule else ONE_RATE if not study.rates else "the sweep of learning rates has not ended")
    return found


def different_tokens(study: ScaleStudy) -> float | None:
    """The number of tokens of the data, if runs repeat them."""
    return float(study.train_tokens) if max(size.epochs for size in study.sizes) > 1 else None


def losses_of(study: ScaleStudy, size: SizeRuns) -> list[float]:
    """The losses of the seeds of a size; runs that diverged or have not ended are left out."""
    values = [study_values.final_value(study.run(size, seed), study.metric) for seed in study.seeds]
    return [value for value in values if value is not None and math.isfinite(value)]


def losses_at(study: ScaleStudy, budget: float) -> dict[str, list[float]]:
    return {size.name: losses_of(study, size) for size in study.sizes if size.budget == budget}


def measured(
    study: ScaleStudy, count: str = compute_optimal.WITH_HEAD, flops: str = EXACT, below: float = math.inf
) -> MeasuredLosses:
    """The losses of the runs that have ended, of budgets below a limit; diverged ones are left out."""
    rows: list[tuple[float, float, float, float, float]] = []
    for size in (size for size in study.sizes if size.budget < below):
        parameters = size.parameters[count]
        compute = size.flops if flops == EXACT else FLOPS_PER_PARAMETER_AND_TOKEN * parameters * size.tokens
        rows += [(parameters, size.tokens, compute, loss, size.budget) for loss in losses_of(study, size)]
    if not rows:
        raise RunError(f"no run of {study.name} has ended; train them with: glasshouse scale run {study.name}")
    sizes, tokens, costs, values, planned = np.array(rows).T
    budgets = planned.copy()
    if flops != EXACT:  # what the runs of a budget cost, counted in this way
        for budget in np.unique(planned):
            budgets[planned == budget] = np.exp(np.log(costs[planned == budget]).mean())
    return MeasuredLosses(sizes, tokens, costs, values, np.arange(len(rows)), budgets, count)


def to_json(study: ScaleStudy) -> dict[str, Any]:
    decided = {name: value for name, value in asdict(study).items() if name != "path"}
    return {"format": FORMAT, "glasshouse": __version__, "created": time.time(), **decided}


def _from_json(path: Path) -> ScaleStudy:
    try:
        table = kept_json.read(path / FILE, dict[str, Any], kept_json.MOST_FACTS)
        kept_json.refuse_newer(table, FORMAT, path)
        decided = {name: value for name, value in table.items() if name not in ("format", "glasshouse", "created")}
        study = replace(as_type(decided, ScaleStudy), path=path)
        _check(study)
        return study
    except (OSError, ValueError, LookupError, ArithmeticError) as error:
        raise RunError(f"{path / FILE} is no scaling study ({error}); restore it, or delete the folder") from None


def _check(study: ScaleStudy) -> None:
    """Refuse sizes whose runs could be taken for those of another size, or lie elsewhere. Raises ValueError or RunError."""
    if len(set(study.seeds)) < len(study.seeds):
        raise ValueError("its seeds name a seed twice")
    for size in (*study.sizes, *study.swept):
        containment.folder_within(study.path, [size.name], study.path / FILE)
        if missing := [how for how in compute_optimal.COUNTS if how not in size.parameters]:
            raise ValueError(f"a size has no number of parameters {missing[0]!r}")
    folders = Counter((f"{size.budget:.3g}", size.name.lower()) for size in study.sizes)
    if twice := next((folder for folder, count in folders.items() if count > 1), None):
        raise ValueError(f"two sizes of the budget {twice[0]} have the name {twice[1][:100]!r}")
