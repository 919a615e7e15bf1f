"""The HTML page of a run. Everything comes from its `Report`; the page's security policy forbids every network request."""

from collections.abc import Sequence

import numpy as np

from glasshouse import formatting
from glasshouse.pages import attention_page, chart, label_tables, line_charts, svg_chart, template, token_shading
from glasshouse.pages.chart import Axis, Chart, Dots, Interval, Line, Mark, MarkGroup, Text
from glasshouse.results import study_text
from glasshouse.results.report import Regression, Report

# More points than this are drawn in part, because they would cover each other; more than the second are drawn smaller.
MOST_DOTS, SMALL_DOTS = 1500, 300
MOST_NAME_CHARACTERS = 22


def render(report: Report) -> str:
    """The whole page. It is complete without JavaScript; the scripts only add interaction."""
    learning = (("Loss", report.loss), (report.quality_name, report.quality))
    return template.fill(
        "report.html",
        scripts=("page.js", "charts.js", "samples.js", "attention.js"),
        report=report,
        learning_curves=[line_charts.panel(title, curves) for title, curves in learning if curves],
        statistics=[line_charts.panel(curve.name, (curve,), small=True) for curve in report.other],
        draw=svg_chart.draw,
        samples=[token_shading.shade_sample(sample) for sample in report.samples],
        shade_names=token_shading.SHADE_NAMES,
        confusion=label_tables.confusion_table(report.confusion) if report.confusion else None,
        scatters=_scatters(report.regression) if report.regression else (),
        scores=label_tables.score_table(report.scores) if report.scores else None,
        explained=[(text, *token_shading.shade_words(text)) for text in report.explained],
        too_small=token_shading.too_small,
        format_probability=formatting.probability,
        attention=attention_page.section(report.attention) if report.attention else None,
        total_parameters=sum(parameters for _, parameters in report.parameters),
        parameter_bars=bar_chart(report.parameters) if any(count for _, count in report.parameters) else None,
    )


def _scatters(regression: Regression) -> tuple[Chart, ...]:
    truth, predictions = regression.truth, regression.predictions
    numbers = np.concatenate([truth, predictions])
    equal = (numbers.min(), numbers.max())
    predicted = (predictions.min(), predictions.max())
    return (
        scatter_chart(truth, predictions, Line(equal, equal), "true", "Predicted over true number"),
        scatter_chart(
            predictions, predictions - truth, Line(predicted, (0, 0)), "predicted", "Residual over predicted number"
        ),
    )


def scatter_chart(x: np.ndarray, y: np.ndarray, right: Line, x_label: str, title: str) -> Chart:
    """A dot for each text, and the line on which a right prediction lies."""
    chosen = np.linspace(0, len(x) - 1, min(len(x), MOST_DOTS)).round().astype(int)
    x_axis, y_axis = (
        chart.linear(min(own.min(), *rule), max(own.max(), *rule)) for own, rule in ((x, right.x), (y, right.y))
    )
    dots = Dots(x[chosen], y[chosen], size=2.6 if len(chosen) > SMALL_DOTS else 4.5, opacity=0.65)
    series = [MarkGroup([right], tone="faint", dash=2), MarkGroup([dots])]
    return Chart(title, x_axis, {"linear": y_axis}, series, x_label=x_label, height=300)


def bar_chart(parts: Sequence[tuple[str, int]]) -> Chart:
    """A bar for each named count, with its share of the total."""
    total, largest = sum(value for _, value in parts), max(value for _, value in parts)
    names = study_text.short_names([name for name, _ in parts], MOST_NAME_CHARACTERS)
    rows = Axis(len(parts) - 0.5, -0.5, tuple(map(float, range(len(parts)))), labels=tuple(names))
    bars, texts = list[Mark](), list[Text]()
    for row, (_, value) in enumerate(parts):
        share = f"{value / total:.0%}" if value >= total / 200 else "<1%"
        bars.append(Interval(row, 0, value, across=True, cap=0, width=12))
        texts.append(
            Text(f"{formatting.count(value)}, {share}", value / largest, rows.fraction(row), right=8, anchor="start")
        )
    title = ", ".join(f"{name} {formatting.count(value)}" for name, value in parts)
    scales, height = {"linear": rows}, 27 * len(parts) + 14
    return Chart(title, Axis(0, largest), scales, [MarkGroup(bars)], texts, grid="x", height=height, beside=92)
