"""A fit of scaling laws in words, tables and pictures: what to train for a budget, and how sure that is."""

from collections.abc import Mapping, Sequence

import numpy as np

from glasshouse import formatting
from glasshouse.pages.chart import MarkGroup
from glasshouse.pages.scaling_page import Place, ScalingContent, ScalingFigure, curve, figure
from glasshouse.results.table import Table
from glasshouse.scaling.budget_forecast import ForecastOutcome
from glasshouse.scaling.isoflop_law import IsoFLOPFit
from glasshouse.scaling.measurements import MeasuredLosses
from glasshouse.scaling.parametric_law import REPEATED, ParametricFit, ParametricLaw
from glasshouse.scaling.regression import Array, LawEstimate, estimate
from glasshouse.scaling.scaling_fit import ENVELOPE, ISOFLOP, LawPrediction, ScalingFit

# Points of a drawn line, lines of equal loss, and measured losses that are drawn at most.
POINTS, CONTOURS, MOST_MEASURED = 60, 5, 400
ISOFLOP_CAPTION = (
    "IsoFLOP curves: models that cost the same compute, by their size. Each minimum, with its 95 % interval, is the best "
    "size for that budget. Dashed: the minimum is not certain, and the budget is left out."
)
FRONTIER_CAPTION = (
    "The best size for a budget, by each law. The bands hold 95 % of the resamples; beyond the measured budgets they widen."
)
FORECAST_CAPTION = (
    "The largest budget, predicted from the smaller ones before it ran, and what was measured. The band holds 95 % of the "
    "predicted runs."
)
CONTOUR_CAPTION = "Lines of equal loss by the parametric law. More parameters or more tokens reach the same loss."
FITTED_CAPTION = "How well the parametric law fits: every run should lie on the dashed line."
PARAMETERS, COMPUTE = "parameters N", "compute C, FLOPs"


def count_interval(value: LawEstimate) -> str:
    """A count with its interval: "2.3 M (68 K to 77 M)"."""
    low, high = formatting.count(value.low), formatting.count(value.high)
    return f"{formatting.count(value.value)} ({low} to {high})"


def number_interval(value: LawEstimate) -> str:
    """A number with its interval, to the digits that the interval supports."""
    width = value.high - value.low
    digits = [formatting.rounded(number, width / 4) for number in (value.value, value.low, value.high)]
    return f"{digits[0]} ({digits[1]} to {digits[2]})"


def reach(fit: ScalingFit, budget: float) -> str:
    """How far a budget lies beyond the measured ones."""
    factor = budget / fit.largest_budget
    if factor <= 1:
        return "within the measured budgets"
    return f"{formatting.short_number(float(f'{factor:.2g}'))} times the largest measured compute"


def leading(fit: ScalingFit, predictions: Sequence[LawPrediction]) -> LawPrediction:
    """The prediction that answers: of the law with repetition if the data are repeated and prefer it, else of the first.

    A law that does not fit answers only if there is no other.
    """
    preferred = fit.best_parametric
    fitting = [each for each in predictions if each.fits]
    if preferred is not None and preferred.name == REPEATED and fit.different_tokens:
        fitting.sort(key=lambda each: each.law != REPEATED)
    return next(iter(fitting), predictions[0])


def answer(
    fit: ScalingFit, budget: float, predictions: Sequence[LawPrediction], different_tokens: float | None = None
) -> str:
    """One sentence for a person who asks what to train."""
    first = leading(fit, predictions)
    size, tokens = count_interval(first.parameters), count_interval(first.tokens)
    of = f" of {formatting.count(different_tokens)} different ones" if first.law == REPEATED and different_tokens else ""
    law = f"{first.law}."
    if first.loss is not None:
        law = f"{first.law}, which expects a loss of {number_interval(first.loss)}."
    elif expected := [(each.law, each.loss) for each in predictions if each.loss is not None and each.fits]:
        law = f"{first.law}. The law {expected[0][0]} expects a loss of {number_interval(expected[0][1])}."
    return (
        f"For {budget:.3g} FLOPs, {reach(fit, budget)}, train a model of {size} parameters on {tokens} tokens{of}, by the "
        f"law {law} In brackets: 95 % intervals."
    )


def counting_table(fits: Mapping[tuple[str, str], ScalingFit]) -> Table:
    """The exponent by each law, for each way to count parameters and FLOPs."""
    exponents = {key: fit.size_exponents() for key, fit in fits.items()}
    laws = list(dict.fromkeys(law for row in exponents.values() for law in row))
    rows = [(*key, *(number_interval(row[law]) if law in row else "–" for law in laws)) for key, row in exponents.items()]
    return Table("The exponent, by how parameters and FLOPs are counted", ("parameters", "FLOPs", *laws), rows)


def coefficient_table(law: ParametricFit) -> Table:
    symbols = ("E, the loss that remains", "A", "B", "a", "b", "R, repetitions")
    rows = [
        (symbol, number_interval(estimate(values, law.freedom)))
        for symbol, values in zip(symbols, vars(law.laws).values(), strict=True)
        if values is not None
    ]
    return Table(
        f"Coefficients of the law {law.name}",
        ("coefficient", "value"),
        rows,
        f"L = E + A / N^a + B / D^b. The root mean square of the deviations is {law.deviation:.2%} of the loss.",
    )


def prediction_table(fit: ScalingFit, budget: float, predictions: Sequence[LawPrediction]) -> Table:
    rows = [
        (
            each.law if each.fits else f"{each.law} (does not fit)",
            count_interval(each.parameters),
            count_interval(each.tokens),
            "–" if each.loss is None else number_interval(each.loss),
        )
        for each in predictions
    ]
    return Table(f"For {budget:.3g} FLOPs, {reach(fit, budget)}", ("law", "parameters", "tokens", "loss"), rows)


def forecast_answer(outcome: ForecastOutcome) -> str:
    """Whether the losses of the largest budget came out as predicted."""
    forecast = outcome.forecast
    where = f"The losses of the largest budget, {forecast.budget:.3g} FLOPs,"
    if forecast.refused:
        return f"{where} were not predicted from the smaller ones: {forecast.refused}."
    if not outcome.rows:
        return f"{where} are predicted from the smaller ones and not measured yet."
    return (
        f"{where} were predicted from the smaller ones before it ran: {outcome.inside} of {len(outcome.rows)} lie in their "
        f"95 % intervals. The root mean square of the errors is {outcome.error:.1%} of the loss."
    )


def forecast_table(fit: ScalingFit, outcome: ForecastOutcome) -> Table:
    """The predicted and the measured loss of each size at the largest budget, and the best N by its own IsoFLOP curve."""
    best = None
    if fit.isoflop is not None:
        at_budget = [each for each in fit.isoflop.usable if each.budget == outcome.forecast.budget]
        best = next((estimate(np.exp(each.minima), fit.isoflop.freedom) for each in at_budget), None)
    rows = [
        (
            size.name,
            formatting.count(size.parameters),
            number_interval(size.loss),
            f"{loss:.4g}",
            "yes" if size.loss.low <= loss <= size.loss.high else "no",
        )
        for size, loss in outcome.rows
    ]
    predicted, measured = ("–" if each is None else count_interval(each) for each in (outcome.forecast.best, best))
    return Table(
        f"Prediction against outcome: {outcome.forecast.budget:.3g} FLOPs",
        ("layers x width", "parameters", "predicted loss", "measured", "inside"),
        rows,
        f"Losses by the law {outcome.forecast.law}, measured ones as means of the seeds. The best number of parameters: "
        f"{predicted} predicted by the law {ISOFLOP}, {measured} at the minimum of the measured curve.",
    )


def content(
    fit: ScalingFit,
    title: str,
    budget: float | None = None,
    different_tokens: float | None = None,
    forecast: ForecastOutcome | None = None,
) -> ScalingContent:
    different_tokens = different_tokens or fit.different_tokens
    predictions = [] if budget is None else fit.predict(budget, different_tokens)
    rows = [(law, number_interval(value)) for law, value in fit.size_exponents().items()]
    tables = [Table("Exponent of the best size: N grows with C to the power of", ("law", "exponent"), rows)]
    answers = [f"The best size grows with compute to the power of {value}, by the law {law}." for law, value in rows[:1]]
    if budget is not None:
        answers.insert(0, answer(fit, budget, predictions, different_tokens))
        tables.insert(0, prediction_table(fit, budget, predictions))
    if (preferred := fit.best_parametric) is not None:
        tables.append(coefficient_table(preferred))
    if forecast is not None:
        answers.append(forecast_answer(forecast))
        if forecast.rows:
            tables.append(forecast_table(fit, forecast))
    measured = fit.measurements
    runs = len(np.unique(measured.runs))
    sizes = f"{measured.sizes} sizes from {formatting.count(measured.parameters.min())} to "
    sizes += f"{formatting.count(measured.parameters.max())} parameters"
    compute = f"{measured.flops.min():.2g} to {measured.flops.max():.2g} FLOPs"
    subtitle = f"{len(measured):,} measurements of {runs:,} runs, {sizes}, {compute}."
    return ScalingContent(title, subtitle, answers, fit.notes, _figures(fit, budget, forecast), tables)


def _figures(fit: ScalingFit, budget: float | None, forecast: ForecastOutcome | None) -> list[ScalingFigure]:
    figures = []
    if fit.isoflop is not None:
        figures.append(figure("isoflop", PARAMETERS, "loss", ISOFLOP_CAPTION, _isoflop_curves(fit.isoflop)))
    if frontiers := _frontiers(fit, budget):
        figures.append(figure("frontier", COMPUTE, "best number of parameters N", FRONTIER_CAPTION, frontiers))
    if forecast is not None and forecast.rows:
        figures.append(figure("forecast", PARAMETERS, "loss", FORECAST_CAPTION, _forecast_curves(forecast)))
    if (preferred := fit.best_parametric) is not None:
        if contours := _contours(preferred.law, fit.compared):
            figures.append(figure("contours", PARAMETERS, "tokens D", CONTOUR_CAPTION, contours))
        fitted = _fitted(fit, preferred)
        figures.append(figure("fitted", "measured loss", "loss by the law", FITTED_CAPTION, fitted))
    return figures


def _places(x: Array, y: Array) -> list[Place]:
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _forecast_curves(outcome: ForecastOutcome) -> list[MarkGroup]:
    """The losses of the largest budget over N, as predicted from the smaller ones and as measured."""
    sizes = outcome.forecast.sizes
    line = [(size.parameters, size.loss.value) for size in sizes]
    band = [(size.parameters, size.loss.low, size.loss.high) for size in sizes]
    measured = [(size.parameters, loss) for size in sizes for loss in outcome.losses.get(size.name, ())]
    return [curve("predicted", line, band, colour=0), curve("measured afterwards", points=measured, colour=1)]


def _isoflop_curves(isoflop: IsoFLOPFit) -> list[MarkGroup]:
    """A parabola for each budget, with its minimum if that is certain."""
    found = []
    for index, parabola in enumerate(isoflop.parabolas):
        x = np.linspace(parabola.log_parameters.min(), parabola.log_parameters.max(), POINTS)
        points, line = _places(np.exp(parabola.log_parameters), parabola.losses), _places(np.exp(x), parabola.loss(x))
        name, dashed = f"{parabola.budget:.3g} FLOPs", not parabola.usable
        found.append(curve(name, line, points=points, dashed=dashed, hollow=True, colour=index))
        best = estimate(parabola.minima, isoflop.freedom)
        if parabola.usable and np.isfinite(best.value):
            minimum = float(np.exp(best.value)), float(parabola.loss(np.array(best.value)))
            interval = float(np.exp(best.low)), float(np.exp(best.high))
            found.append(curve("", points=[minimum], intervals=[interval], across=True, colour=index))
    return found


def _frontiers(fit: ScalingFit, budget: float | None) -> list[MarkGroup]:
    """The laws of the size over compute, from the smallest measured budget to the asked one."""
    low = float((fit.compared.budgets if len(fit.compared.budgets) else fit.measurements.flops).min())
    grid = np.geomspace(low, max(fit.largest_budget, budget or 0.0), POINTS).tolist()
    sizes = [{each.law: each.parameters for each in fit.predict(compute)} for compute in grid]
    usable = [] if fit.isoflop is None else fit.isoflop.usable
    minima = [(each.budget, float(np.exp(each.log_best))) for each in usable]
    best = [] if fit.isoflop is None else [estimate(each.minima, fit.isoflop.freedom) for each in usable]
    intervals = [(float(np.exp(each.low)), float(np.exp(each.high))) for each in best]
    return [
        curve(
            law,
            [(compute, by_law[law].value) for compute, by_law in zip(grid, sizes, strict=True)],
            [(compute, by_law[law].low, by_law[law].high) for compute, by_law in zip(grid, sizes, strict=True)],
            minima if law == ISOFLOP else (),
            intervals if law == ISOFLOP else (),
            colour=index,
        )
        for index, law in enumerate(law for law in fit.laws if law != ENVELOPE)
    ]


def _contours(law: ParametricLaw, compared: MeasuredLosses) -> list[MarkGroup]:
    """Lines of equal loss within the measured range of N and D, as if no token were repeated, and the measured runs."""
    parameters = np.exp(np.linspace(np.log(compared.parameters.min()), np.log(compared.parameters.max()), POINTS))
    lines: list[MarkGroup] = []
    for level in np.quantile(compared.losses, np.linspace(0.1, 0.9, CONTOURS)):
        rest = level - law.floor - law.parameter_scale * parameters**-law.parameter_exponent
        with np.errstate(invalid="ignore", divide="ignore"):
            needed = (law.token_scale / rest) ** (1 / law.token_exponent)
        inside = (rest > 0) & (needed >= compared.tokens.min()) & (needed <= compared.tokens.max())
        if inside.sum() > 1:
            line = _places(parameters[inside], needed[inside])
            lines.append(curve(f"loss {level:.3g}", line, colour=len(lines)))
    measured = _places(compared.parameters, compared.tokens)[:MOST_MEASURED]
    return [*lines, curve("measured", points=measured, hollow=True)] if lines else []


def _fitted(fit: ScalingFit, law: ParametricFit) -> list[MarkGroup]:
    """The loss by the law over the measured one, and the line on which they are equal."""
    measured = (fit.compared if fit.measurements.curves else fit.measurements).losses
    places = _places(measured, np.exp(np.log(measured) - law.residuals))[:MOST_MEASURED]
    values = [value for place in places for value in place]
    ends = [(min(values), min(values)), (max(values), max(values))]
    return [curve("equal", ends, dashed=True), curve("runs", points=places, hollow=True, colour=0)]
