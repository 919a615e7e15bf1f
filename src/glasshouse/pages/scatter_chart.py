"""Scatter charts of predicted and true numbers as SVG strings, in the colours of the page."""

from html import escape

import numpy as np

from glasshouse import formatting
from glasshouse.pages import axes
from glasshouse.pages.charts import LIGHT_COLOURS, Frame, draw_value_axis

WIDTH, HEIGHT = 460, 300
# More points than this are drawn smaller and only in part: they would cover each other.
MOST_POINTS = 1500
SMALL_DOTS = 300


def predictions_over_truth(truth: np.ndarray, predictions: np.ndarray) -> str:
    """Predicted numbers over true numbers, with the line where both are equal."""
    numbers = np.concatenate([truth, predictions])
    low, high = float(numbers.min()), float(numbers.max())
    return _draw(truth, predictions, [(low, low), (high, high)], "true", "Predicted number over true number")


def residuals_over_predictions(truth: np.ndarray, predictions: np.ndarray) -> str:
    """Residuals (predicted minus true) over predicted numbers, with the line at zero."""
    ends = [(float(predictions.min()), 0.0), (float(predictions.max()), 0.0)]
    return _draw(predictions, predictions - truth, ends, "predicted", "Residual over predicted number")


def _draw(x: np.ndarray, y: np.ndarray, rule: list[tuple[float, float]], x_name: str, title: str) -> str:
    chosen = np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int)
    rule_x, rule_y = np.array(rule).T
    x_axis = axes.linear(float(min(x.min(), rule_x.min())), float(max(x.max(), rule_x.max())))
    y_axis = axes.linear(float(min(y.min(), rule_y.min())), float(max(y.max(), rule_y.max())))
    labels = [formatting.short_number(tick) for tick in y_axis.ticks]
    frame = Frame(left=max(30, 7.2 * max(map(len, labels)) + 12), top=10, right=WIDTH - 12, bottom=HEIGHT - 46)

    def place(across: float, up: float) -> str:
        return f"{frame.x(x_axis.fraction(across)):.1f} {frame.y(y_axis.fraction(up)):.1f}"

    dots = "".join(f"M{place(float(x[index]), float(y[index]))}h0" for index in chosen)
    size = 2.6 if len(chosen) > SMALL_DOTS else 4.5
    line = "L".join(place(*point) for point in rule)
    body = draw_value_axis(y_axis, frame) + _across(x_axis, frame, x_name)
    body += f'<path class="rule" stroke="#7d8b83" d="M{line}"/>'
    body += (
        f'<g class="accent"><path class="dots" style="stroke-width:{size};opacity:.65" stroke="{LIGHT_COLOURS["accent"]}" '
        f'stroke-linecap="round" d="{dots}"/></g>'
    )
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{body}</svg>'


def _across(axis: axes.Axis, frame: Frame, name: str) -> str:
    """SVG of the x axis with its name."""
    body = f'<path class="axis" stroke="#b9c4bd" d="M{frame.left:.1f} {frame.bottom:.1f}H{frame.right:.1f}"/>'
    for tick in axis.ticks:
        x = frame.x(axis.fraction(tick))
        body += (
            f'<path class="axis" stroke="#b9c4bd" d="M{x:.1f} {frame.bottom:.1f}v4"/>'
            f'<text x="{x:.1f}" y="{frame.bottom + 18:.1f}" text-anchor="middle">{formatting.short_number(tick)}</text>'
        )
    middle = (frame.left + frame.right) / 2
    return f'{body}<text x="{middle:.1f}" y="{frame.bottom + 36:.1f}" text-anchor="middle">{escape(name)}</text>'
