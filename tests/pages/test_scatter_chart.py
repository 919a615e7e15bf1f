"""Scatter charts: a dot for each text, and the line where a prediction is right."""

import re
from xml.etree import ElementTree

import numpy as np

from glasshouse.pages import scatter_chart

TRUTH, PREDICTIONS = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.5, 2.0])


def places(drawing, kind):
    [path] = [each for each in ElementTree.fromstring(drawing).iter() if each.get("class") == kind]
    return [tuple(map(float, place.split())) for place in re.findall(r"[\d.]+ [\d.]+", path.get("d"))]


def test_a_right_prediction_lies_on_the_line():
    drawing = scatter_chart.predictions_over_truth(TRUTH, PREDICTIONS)
    right, above, below = places(drawing, "dots")
    start, end = places(drawing, "rule")
    assert right == start
    slope = (end[1] - start[1]) / (end[0] - start[0])
    assert above[1] < start[1] + slope * (above[0] - start[0])
    assert below[1] > start[1] + slope * (below[0] - start[0])


def test_the_residual_of_a_right_prediction_is_on_the_line_at_zero():
    drawing = scatter_chart.residuals_over_predictions(TRUTH, PREDICTIONS)
    heights = [y for _, y in places(drawing, "dots")]
    zero = places(drawing, "rule")[0][1]
    assert heights[0] == zero
    assert heights[1] < zero < heights[2]


def test_equal_numbers_can_be_drawn():
    assert len(places(scatter_chart.predictions_over_truth(np.ones(2), np.ones(2)), "dots")) == 2


def test_of_very_many_points_some_are_drawn():
    many = np.arange(scatter_chart.MOST_POINTS * 3, dtype=float)
    assert len(places(scatter_chart.predictions_over_truth(many, many), "dots")) == scatter_chart.MOST_POINTS
