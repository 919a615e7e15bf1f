"""A run's report as one HTML file that works offline: `render` turns a `Report` into the page.

Knows nothing of run folders or models: everything it shows is in the data it is given. Style, script and pictures are
in the page, and its content policy forbids the browser any request, so it can be kept, sent and trusted.
"""

from glasshouse import formatting
from glasshouse.pages import attention_heatmap, charts, confusion_table, template, token_shading
from glasshouse.pages.report_content import (
    AttentionMap,
    Confusion,
    Curve,
    Mistake,
    PlannedCost,
    Report,
    Sample,
    Token,
    Translated,
    Translations,
)

__all__ = [
    "AttentionMap",
    "Confusion",
    "Curve",
    "Mistake",
    "PlannedCost",
    "Report",
    "Sample",
    "Token",
    "Translated",
    "Translations",
    "render",
]

SCRIPTS = ("page.js", "charts.js", "samples.js", "attention.js")


def render(report: Report) -> str:
    """The whole page. It is drawn here, so that it reads without JavaScript; the scripts add pointing and choosing."""
    return template.fill(
        "report.html",
        scripts=SCRIPTS,
        report=report,
        learning=[_panel(title, curves) for title, curves in _titled(report) if curves],
        along_the_way=[_panel(curve.name, (curve,), small=True) for curve in report.other],
        samples=[token_shading.shaded(sample) for sample in report.samples],
        shade_names=token_shading.SHADE_NAMES,
        confusion=confusion_table.table(report.confusion) if report.confusion else None,
        percentage=formatting.percentage,
        attention=_attention(report.attention),
        total_parameters=sum(parameters for _, parameters in report.parameters),
        parameter_bars=charts.bars(report.parameters),
    )


def _titled(report: Report) -> tuple[tuple[str, tuple[Curve, ...]], ...]:
    return (("Loss", report.loss), (report.quality_name, report.quality))


def _panel(title: str, curves: tuple[Curve, ...], small: bool = False) -> dict[str, object]:
    log = not small and charts.spans_decades(curves)
    drawing = charts.lines(curves, width=300, height=150) if small else charts.lines(curves, log=log)
    return {
        "title": title,
        "drawing": drawing,
        "legend": charts.legend(curves),
        "remarks": charts.remarks(curves),
        "log": log,
        "can_log": charts.has_log_scale(curves),
    }


def _attention(attention: AttentionMap | None) -> dict[str, object] | None:
    if attention is None:
        return None
    return {
        "columns": attention.weights.shape[1],
        "heads": attention_heatmap.heads(attention),
        "enlarged": attention_heatmap.enlarged(attention),
        "tokens": _words(attention.tokens),
        "sources": _words(attention.sources) if attention.sources else None,
        "shape": f"{len(attention.keys)} / {len(attention.tokens)}",
        "data": attention_heatmap.pack(attention),
    }


def _words(tokens: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Each token as it is shown, and whether a line ends with it."""
    return [(formatting.visible(token), "\n" in token) for token in tokens]
