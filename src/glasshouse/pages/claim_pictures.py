"""The pictures of a claim: forest plots of its comparisons and its own figures, as SVG strings from its deciding trial."""

import math

from glasshouse.pages import claim_text, computation_graph, line_charts, svg_chart
from glasshouse.pages.forest_plot import ForestRow, forest_plot, small_forest_plot
from glasshouse.results.claim import EXACT, Case, GraphFigure, LineFigure, PartResult, Quantity, Trial
from glasshouse.verdicts.verdict import summarise

# The names of the pictures of comparisons; a claim's own figures have other names.
FOREST_PLOTS = ("comparisons", "small", "beside")


def pictures(case: Case) -> dict[str, str]:
    """Name of a picture -> SVG: `comparisons`, `small`, `beside`, and each figure of the claim. Empty without a trial.

    The first two show the comparisons that decide, `beside` the others.
    """
    trial = case.original
    if not trial or not trial.finding:
        return {}
    drawn = [result for result in trial.finding.parts if result.part.kind != EXACT]
    deciding, beside = (
        [
            _row(result, trial.registration.quantities[result.part.quantity])
            for result in drawn
            if result.part.decides == decides
        ]
        for decides in (True, False)
    )
    svgs = {}
    if deciding:
        svgs["comparisons"] = forest_plot(deciding, f"comparisons of the claim {case.name}")
        svgs["small"] = small_forest_plot(deciding, f"deciding comparisons of the claim {case.name}")
    if beside:
        svgs["beside"] = forest_plot(beside, f"other comparisons of the claim {case.name}")
    for figure in case.figures:
        if svg := _figure(trial, figure):
            svgs[figure.name.replace(" ", "-")] = svg
    return svgs


def _row(result: PartResult, quantity: Quantity) -> ForestRow:
    part = result.part
    sign = 1.0 if part.claimed == "higher" else -1.0
    half_width = (result.high - result.low) / 2
    # A comparison without a margin is drawn in units of its interval.
    unit = part.margin or (half_width if half_width > 0 else 1.0)
    low, high = sorted(sign * end / unit for end in (result.low, result.high))
    text = claim_text.difference_text(result, quantity).replace(f"{claim_text.INTERVAL} ", "")
    return ForestRow(part.name, result.outcome, sign * result.mean / unit, low, high, text, part.setting)


def _figure(trial: Trial, figure: LineFigure | GraphFigure) -> str:
    if isinstance(figure, GraphFigure):
        return computation_graph.draw(figure)
    assert trial.measured
    if not figure.lines:
        curves = {
            name.partition("/")[2]: points
            for name, points in trial.measured.curves.items()
            if name.partition("/")[0] == figure.name
        }
        curves = {name: points for name, points in curves.items() if points}
        chart = line_charts.xy_chart(curves, figure.x_label, figure.y_label) if curves else None
        return svg_chart.draw(chart, alone=True) if chart else ""
    lines = {}
    for name, keys in figure.lines.items():
        points = {}
        for setting, key in keys.items():
            # A figure may have lines that a trial of an earlier plan did not measure.
            if (series := trial.measured.series.get(key)) is None:
                continue
            scale = trial.registration.quantities[key].scale
            finite = [value * scale for value in series.values.values() if math.isfinite(value)]
            if finite:
                summary = summarise(finite)
                points[float(setting)] = (summary.mean, summary.low, summary.high)
        if points:
            lines[name] = points
    if not lines:
        return ""
    return svg_chart.draw(line_charts.settings_chart(lines, figure.x_label, figure.y_label), alone=True)
