"""A run beside its baselines: scores, paired differences and their intervals, as `baselines.json` of a run holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from glasshouse.baselines.baseline import Baseline, BaselineFigures
from glasshouse.formatting import number
from glasshouse.metrics.metric import Metric, Metrics
from glasshouse.records import atomic_files, kept_json
from glasshouse.results.report import BaselineSection
from glasshouse.specs.errors import RunError
from glasshouse.verdicts.estimates import from_units
from glasshouse.verdicts.mean_intervals import binomial_interval

FORMAT = 1
LEVEL = 0.05
# With fewer items an interval would promise more than it holds.
FEWEST_ITEMS = 8


@dataclass(frozen=True)
class PairedDifference:
    """A run minus a baseline in one metric. Without an interval, `low` and `high` are None and `pairs` is 0."""

    metric: str
    difference: float
    low: float | None = None
    high: float | None = None
    pairs: int = 0

    def word(self, higher_is_better: bool) -> str:
        """ "better" or "worse", as the run is shown to be; empty if no difference is shown, or there is no interval."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return ""
        return "better" if (self.low > 0) == higher_is_better else "worse"


@dataclass(frozen=True)
class BaselineResult(BaselineFigures):
    differences: tuple[PairedDifference, ...] = ()

    def difference(self, metric: str) -> PairedDifference | None:
        return next((difference for difference in self.differences if difference.metric == metric), None)

    def verdict(self, metric: Metric) -> str:
        """ "better" or "worse", as the run is shown to be in a metric; empty otherwise."""
        difference = self.difference(metric.name)
        return difference.word(metric.higher_is_better) if difference else ""


@dataclass(frozen=True)
class BaselineResults:
    """The baselines of a run on one split, and the metrics of the run at a step. `metric` decides which one is the best."""

    task: str
    data: str
    split: str
    step: int
    metric: str
    items: str
    run: Mapping[str, float]
    baselines: tuple[BaselineResult, ...]
    format: int = field(default=FORMAT)

    def best(self, metric: Metric) -> BaselineResult | None:
        """The best baseline: on the validation split, if all trained ones were measured there, so that no test decides."""
        return self._top(metric, self._chosen_on_validation(metric))

    def _chosen_on_validation(self, metric: Metric) -> bool:
        return all(metric.name in baseline.validation for baseline in self._trained(metric))

    def _trained(self, metric: Metric) -> list[BaselineResult]:
        return [baseline for baseline in self.baselines if metric.name in baseline.metrics]

    def _top(self, metric: Metric, on_validation: bool) -> BaselineResult | None:
        def quality(baseline: BaselineResult) -> float:
            value = (baseline.validation if on_validation else baseline.metrics)[metric.name]
            return value if metric.higher_is_better else -value

        return max(self._trained(metric), key=quality, default=None)

    def sentence(self, metrics: Metrics) -> str:
        """The best baseline and the run: in plain words, and then with the statistics."""
        return " ".join(filter(None, [self.plain_sentence(metrics), self.statistics(metrics)]))

    def plain_sentence(self, metrics: Metrics) -> str:
        """The run beside the best baseline, and whether another is better on the split, as far as the statistics show."""
        metric = metrics.find(self.metric)
        best = self.best(metric)
        if best is None:
            return "No baseline could be trained."
        own, other = metric.text(self.run[metric.name]), metric.text(best.metrics[metric.name])
        title, difference = f"{self.split} {metric.title}", best.difference(metric.name)
        alone = len(self._trained(metric)) == 1
        name = best.title if alone else f"the best baseline, {best.title}"
        word, better = best.verdict(metric), self._better_on_the_split(metric, best)
        if word:
            return f"This run is {word} than {name}: {title} {own} instead of {other}.{better}"
        if difference and difference.pairs:
            return f"No difference is shown between this run and {name}: {title} {own} and {other}.{better}"
        return f"This run has a {title} of {own}, and {name}{'' if alone else ','} has {other}.{better}"

    def _better_on_the_split(self, metric: Metric, best: BaselineResult) -> str:
        """A sentence on the baseline that is best on the split itself, if that is another; empty otherwise."""
        top = self._top(metric, on_validation=False)
        if top is None or top.metrics[metric.name] == best.metrics[metric.name]:
            return ""
        word, figure = top.verdict(metric), metric.text(top.metrics[metric.name])
        beside = f", and this run is {word} than it" if word else ""
        return f" Best on validation is {best.title}; on {self.split}, {top.title} is better with {figure}{beside}."

    def statistics(self, metrics: Metrics) -> str:
        """How the best baseline was chosen, and the difference with its interval; empty without a baseline."""
        metric = metrics.find(self.metric)
        best = self.best(metric)
        if best is None:
            return ""
        chosen = f"{best.title} is the best baseline on {'validation' if self._chosen_on_validation(metric) else self.split}"
        difference = best.difference(metric.name)
        if difference is None:
            return f"{chosen[:1].upper()}{chosen[1:]}."
        text = f"The difference is {difference_text(difference.difference, metric)}"
        if difference.pairs:
            over = f"paired over {difference.pairs:,} {self.split} {self.items}"
            text += f" (95 % interval {interval_text(difference, metric)}, {over})"
        return f"{text}; {chosen}."

    def section(self, metrics: Metrics) -> BaselineSection:
        measured = [metric for name, metric in metrics.items() if name in self.run]
        main = metrics.find(self.metric)
        remarks = any(baseline.note for baseline in self.baselines)
        rows = [_row(baseline, measured, main, remarks) for baseline in self.baselines]
        own = tuple(metric.text(self.run[metric.name]) for metric in measured)
        rows.append(("this run", *own, "", "", *[""][:remarks]))
        titles = (f"{self.split} {measured[0].title}", *(metric.title for metric in measured[1:])) if measured else ()
        columns = ("the obvious", *titles, "difference", "95 % interval", *["remark"][:remarks])
        sentences = self.plain_sentence(metrics), self.statistics(metrics)
        return BaselineSection(columns, tuple(rows), len(measured) + 2, *sentences)

    def write(self, file: Path) -> None:
        atomic_files.write_json(file, asdict(self))


def _row(baseline: BaselineResult, measured: Sequence[Metric], main: Metric, remarks: bool) -> tuple[str, ...]:
    figures = (metric.text(baseline.metrics[metric.name]) if metric.name in baseline.metrics else "" for metric in measured)
    difference = baseline.difference(main.name)
    texts = (difference_text(difference.difference, main), interval_text(difference, main)) if difference else ("", "")
    return (baseline.title, *figures, *texts, *[baseline.note][:remarks])


def read(file: Path) -> BaselineResults | None:
    if not file.exists():
        return None
    try:
        results: BaselineResults = kept_json.read(file, BaselineResults)
        if results.metric not in results.run:
            raise ValueError(f"its run has no {results.metric}")
        return results
    except (OSError, ValueError) as error:
        raise RunError(f"{file} cannot be read ({error}); it is left out, and `glasshouse report` makes it again") from None


def compare(baseline: Baseline, run: Mapping[str, float], values: Mapping[str, np.ndarray]) -> BaselineResult:
    differences = tuple(paired_difference(name, run[name], baseline, values) for name in baseline.metrics if name in run)
    return BaselineResult(**baseline.figures(), differences=differences)


def paired_difference(metric: str, run: float, baseline: Baseline, values: Mapping[str, np.ndarray]) -> PairedDifference:
    """The run minus the baseline. The interval is over the items that both were scored on."""
    plain = PairedDifference(metric, run - baseline.metrics[metric])
    if metric not in values or metric not in baseline.values:
        return plain
    own = np.asarray(values[metric], float)
    own = own if baseline.places is None else own[baseline.places]
    if len(own) != len(baseline.values[metric]) or len(own) < FEWEST_ITEMS:
        return plain
    differences = own - baseline.values[metric]
    if not differences.any():
        # No pair differs. So the share of pairs that differ is small, but not known to be zero.
        most = binomial_interval(0.0, len(own), LEVEL)[1]
        return PairedDifference(metric, 0.0, -most, most, len(own))
    estimate = from_units(differences.tolist())
    low, high = estimate.interval(LEVEL)
    return PairedDifference(metric, estimate.mean, low, high, len(own))


def difference_text(value: float, metric: Metric) -> str:
    factor, places = _scale(metric)
    return number(factor * value, places, signed=True) + (" points" if factor == 100 else "")


def interval_text(difference: PairedDifference, metric: Metric) -> str:
    """The interval of a difference; empty if there is none."""
    if difference.low is None or difference.high is None:
        return ""
    factor, places = _scale(metric)
    return " to ".join(number(factor * end, places, signed=True) for end in (difference.low, difference.high))


def _scale(metric: Metric) -> tuple[int, int | None]:
    if metric.unit == "percent":
        return 100, 1
    digits = metric.number_format.removeprefix("{:.").removesuffix("f}")
    return 1, int(digits) if digits.isdecimal() else None
