"""The pictures of a claim: forest plots of its comparisons and its own figures, as SVG strings from its deciding trial.

A forest plot has a line for each comparison: its effect with its interval, against its margin. Comparisons have different
units, so effects are drawn in margins, and positive effects support the claim. The band around zero is one margin wide on
each side: an effect inside it is too small to matter.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence

from glasshouse.pages import claim_text, computation_graph, line_charts, svg_chart
from glasshouse.pages.chart import Axis, Band, Chart, Dots, Interval, Line, Mark, MarkGroup, Text
from glasshouse.results.claim import (
    EXACT,
    REFUTED,
    TOO_SMALL,
    UNDECIDED,
    UPHELD,
    Case,
    GraphFigure,
    LineFigure,
    PartResult,
    Quantity,
    Trial,
)
from glasshouse.verdicts.verdict import summarise

# The names of the pictures of comparisons; a claim's own figures have other names.
FOREST_PLOTS = ("comparisons", "small", "beside")
# Pixels of a line of text and of an interval with the space below it, and of an interval in the small plot.
LINE, INTERVAL, SMALL_INTERVAL = 15, 27, 9
# The axis reaches at least and at most this many margins to each side; longer intervals end in an arrow.
LEAST, MOST = 2.5, 8.0
# Characters of a line of text that surely fit.
LINE_LENGTH = 74
TONES = {UPHELD: "better", REFUTED: "worse", TOO_SMALL: "ochre", UNDECIDED: "soft"}


def pictures(case: Case) -> dict[str, str]:
    """Name of a picture -> SVG: `comparisons`, `small`, `beside`, and each figure of the claim. Empty without a trial.

    The first two show the comparisons that decide, `beside` the others.
    """
    trial = case.original
    if not trial or not trial.finding:
        return {}
    drawn = [result for result in trial.finding.parts if result.part.kind != EXACT]
    deciding, beside = ([result for result in drawn if result.part.decides == decides] for decides in (True, False))
    quantities, charts = trial.registration.quantities, {}
    if deciding:
        charts["comparisons"] = forest_plot(deciding, quantities, f"comparisons of the claim {case.name}")
        charts["small"] = small_forest_plot(deciding, f"deciding comparisons of the claim {case.name}")
    if beside:
        charts["beside"] = forest_plot(beside, quantities, f"other comparisons of the claim {case.name}")
    svgs = {name: svg_chart.draw(chart, alone=True) for name, chart in charts.items()}
    for figure in case.figures:
        if svg := _figure(trial, figure):
            svgs[figure.name.replace(" ", "-")] = svg
    return svgs


def forest_plot(results: Sequence[PartResult], quantities: Mapping[str, Quantity], title: str) -> Chart:
    """The plot with the names and the effects of all comparisons, under a heading for each setting."""
    limit = _limit(results)
    texts, series, top, setting = list[Text](), list[MarkGroup](), 0, ""
    for result in results:
        part = result.part
        name = textwrap.wrap(f"{claim_text.SYMBOLS[result.outcome]} {part.name}", LINE_LENGTH, subsequent_indent="\u2003")
        heading = textwrap.wrap(part.setting, LINE_LENGTH) if part.setting != setting else []
        top += LINE // 2 if heading and top else 0
        for line in (*heading, *name):
            texts.append(Text(line, 0, 1, up=-top, anchor="start", tone="ink", bold=line in heading))
            top += LINE
        effect = claim_text.difference_text(result, quantities[part.quantity]).replace(f"{claim_text.INTERVAL} ", "")
        texts.append(Text(effect, 1, 1, right=10, up=-(top + 4), anchor="start"))
        series += [*_background((top - 4, top + 12)), _effect_marks(result, limit, top + 4, 8)]
        top, setting = top + INTERVAL, part.setting
    ticks = (-limit, -1.0, 0.0, 1.0, limit)
    axis = Axis(-limit, limit, ticks, labels=tuple(f"{tick:g}".replace("-", "−") for tick in ticks))
    label = "← against the claim · in margins · for it →"
    rows = {"linear": Axis(top, 0)}
    return Chart(title, axis, rows, series, texts, label, grid="", width=520, height=top + 50, beside=204)


def small_forest_plot(results: Sequence[PartResult], title: str) -> Chart:
    """The plot without texts, for a table."""
    limit, height = _limit(results), SMALL_INTERVAL * len(results)
    places = [SMALL_INTERVAL * (index + 0.5) for index in range(len(results))]
    marks = [_effect_marks(result, limit, place, 5) for result, place in zip(results, places, strict=True)]
    series, scales = [*_background((0, height)), *marks], {"linear": Axis(height, 0)}
    return Chart(title, Axis(-limit, limit), scales, series, grid="x", width=130, height=height + 10)


def _in_margins(result: PartResult) -> tuple[float, float, float]:
    """(mean, low, high) of the effect with the sign of the claim. Without a margin its interval is the unit."""
    half_width = (result.high - result.low) / 2
    unit = result.part.margin or (half_width if half_width > 0 else 1.0)
    sign = 1.0 if result.part.claimed == "higher" else -1.0
    low, high = sorted(sign * end / unit for end in (result.low, result.high))
    return sign * result.mean / unit, low, high


def _limit(results: Sequence[PartResult]) -> float:
    ends = [abs(end) for result in results for end in _in_margins(result) if math.isfinite(end)]
    return min(max([LEAST, *map(math.ceil, ends)]), MOST)


def _background(heights: tuple[float, float]) -> list[MarkGroup]:
    """The band of differences too small to matter, and the line of no difference."""
    top, bottom = heights
    band = Band((-1, 1), (bottom, bottom), (top, top), opacity=0.22)
    return [MarkGroup([band], tone="quiet"), MarkGroup([Line((0, 0), heights, width=1)], tone="soft")]


def _effect_marks(result: PartResult, limit: float, place: float, size: float) -> MarkGroup:
    """A dot at the mean and a line for the interval; ends beyond the axis have an arrow."""
    mean, low, high = _in_margins(result)
    marks: list[Mark] = []
    if math.isfinite(low) and math.isfinite(high):
        start, end = (min(max(value, -limit), limit) for value in (low, high))
        marks.append(Interval(place, start, end, across=True, cap=0, width=2))
        arrows = (("left", -limit, low < -limit), ("right", limit, high > limit))
        marks += [Dots([end], [place], size=size, shape=shape) for shape, end, beyond in arrows if beyond]
    if abs(mean) <= limit:
        marks.append(Dots([mean], [place], size=size))
    return MarkGroup(marks, tone=TONES[result.outcome])


def _figure(trial: Trial, figure: LineFigure | GraphFigure) -> str:
    if isinstance(figure, GraphFigure):
        return computation_graph.draw(figure)
    assert trial.measured
    if not figure.lines:
        own = {name.partition("/")[::2]: points for name, points in trial.measured.curves.items() if points}
        curves = {line: points for (name, line), points in own.items() if name == figure.name}
        return svg_chart.draw(line_charts.xy_chart(curves, figure.x_label, figure.y_label), alone=True) if curves else ""
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
    return svg_chart.draw(line_charts.settings_chart(lines, figure.x_label, figure.y_label), alone=True) if lines else ""
