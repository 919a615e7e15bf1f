"""The HTML page of a run: `render` turns a `Report` into one file that works offline.

Knows nothing of run folders or models: everything on the page comes from the `Report`. Style, scripts and images are inside
the page, and its content security policy forbids every network request.
"""

from glasshouse import formatting
from glasshouse.pages import (
    attention_page,
    charts,
    label_tables,
    scatter_chart,
    template,
    token_shading,
)
from glasshouse.results.report import Curve, Regression, Report

SCRIPTS = ("page.js", "charts.js", "samples.js", "attention.js")


def render(report: Report) -> str:
    """The whole page. It is complete without JavaScript; the scripts only add interaction."""
    return template.fill(
        "report.html",
        scripts=SCRIPTS,
        report=report,
        learning_curves=[_panel(title, curves) for title, curves in _learning_curves(report) if curves],
        statistics=[_panel(curve.name, (curve,), small=True) for curve in report.other],
        samples=[token_shading.shade_sample(sample) for sample in report.samples],
        shade_names=token_shading.SHADE_NAMES,
        confusion=label_tables.confusion_table(report.confusion) if report.confusion else None,
        scatters=_scatters(report.regression) if report.regression else (),
        score_rows=label_tables.score_rows(report.scores) if report.scores else (),
        score_remark=label_tables.score_remark(report.scores) if report.scores else "",
        explained=[(text, *token_shading.shade_words(text)) for text in report.explained],
        too_small=token_shading.too_small,
        format_probability=formatting.probability,
        attention=attention_page.section(report.attention) if report.attention else None,
        total_parameters=sum(parameters for _, parameters in report.parameters),
        parameter_bars=charts.bar_chart(report.parameters),
    )


def _learning_curves(report: Report) -> tuple[tuple[str, tuple[Curve, ...]], ...]:
    return (("Loss", report.loss), (report.quality_name, report.quality))


def _scatters(regression: Regression) -> tuple[tuple[str, str], ...]:
    """(title, drawing) of the charts of a regression."""
    numbers = regression.truth, regression.predictions
    return (
        ("Predicted over true number", scatter_chart.predictions_over_truth(*numbers)),
        ("Residual over predicted number", scatter_chart.residuals_over_predictions(*numbers)),
    )


def _panel(title: str, curves: tuple[Curve, ...], small: bool = False) -> dict[str, object]:
    log = not small and charts.spans_decades(curves)
    drawing = charts.line_chart(curves, width=300, height=150) if small else charts.line_chart(curves, log=log)
    return {
        "title": title,
        "drawing": drawing,
        "legend": charts.legend(curves),
        "remarks": charts.remarks(curves),
        "log": log,
        "can_log": charts.has_log_scale(curves),
    }
