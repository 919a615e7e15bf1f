"""The HTML page of a run: `render` turns a `Report` into one file that works offline.

Knows nothing of run folders or models: everything on the page comes from the `Report`. Style, scripts and images are inside
the page, and its content security policy forbids every network request.
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
    """The whole page. It is complete without JavaScript; the scripts only add interaction."""
    return template.fill(
        "report.html",
        scripts=SCRIPTS,
        report=report,
        learning_curves=[_panel(title, curves) for title, curves in _learning_curves(report) if curves],
        statistics=[_panel(curve.name, (curve,), small=True) for curve in report.other],
        samples=[token_shading.shade_sample(sample) for sample in report.samples],
        shade_names=token_shading.SHADE_NAMES,
        confusion=confusion_table.table(report.confusion) if report.confusion else None,
        format_probability=formatting.probability,
        attention=_attention(report.attention),
        total_parameters=sum(parameters for _, parameters in report.parameters),
        parameter_bars=charts.bar_chart(report.parameters),
    )


def _learning_curves(report: Report) -> tuple[tuple[str, tuple[Curve, ...]], ...]:
    return (("Loss", report.loss), (report.quality_name, report.quality))


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


def _attention(attention: AttentionMap | None) -> dict[str, object] | None:
    if attention is None:
        return None
    return {
        "columns": attention.weights.shape[1],
        "heads": attention_heatmap.heads(attention),
        "large_map": attention_heatmap.large_map(attention),
        "tokens": _visible_tokens(attention.tokens),
        "sources": _visible_tokens(attention.sources) if attention.sources else None,
        "aspect_ratio": f"{len(attention.keys)} / {len(attention.tokens)}",
        "data": attention_heatmap.pack(attention),
    }


def _visible_tokens(tokens: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Each token with visible whitespace, and whether it contains a line break."""
    return [(formatting.visible(token), "\n" in token) for token in tokens]
