"""A fit in words and pictures."""

from dataclasses import replace

import numpy as np
import pytest

from glasshouse.pages import scaling_page, scaling_report
from glasshouse.scaling import scaling_fit
from glasshouse.scaling.regression import LawEstimate
from tests.scaling.known_law import LAW, draw, uneven


def test_numbers_have_the_digits_of_their_intervals():
    assert scaling_report.number_interval(LawEstimate(0.4516, 0.43, 0.47)) == "0.452 (0.430 to 0.470)"
    assert scaling_report.count_interval(LawEstimate(2.31e6, 6.8e4, 7.7e7)) == "2.3 M (68.0 K to 77.0 M)"


def test_the_page_answers_and_shows_all_pictures():
    found = scaling_fit.fit_laws(draw(0), resamples=100)
    content = scaling_report.content(found, "a <study>", 1e18)
    assert "31 times the largest measured compute" in content.answers[0]
    assert [figure.name for figure in content.figures] == ["isoflop", "frontier", "contours", "fitted"]
    assert sum(bool(curve.name) for curve in content.figures[0].chart.series) == 6
    assert not any(curve.dash for curve in content.figures[0].chart.series)
    page = scaling_page.render(content)
    assert page.count('<svg class="chart"') == 4
    assert "a &lt;study&gt;" in page
    assert "NaN" not in page.replace("NaN-", "")
    assert "within the measured budgets" in scaling_report.content(found, "x", 1e16).answers[0]


def test_a_law_that_does_not_fit_does_not_answer():
    fit = scaling_fit.fit_laws(uneven(), resamples=60)
    predictions = fit.predict(1e18)
    assert [each.fits for each in predictions] == [True, False]
    assert "expects a loss" not in scaling_report.answer(fit, 1e18, predictions)
    rows = scaling_report.prediction_table(fit, 1e18, predictions).rows
    assert [row[0] for row in rows] == ["IsoFLOP", "parametric (does not fit)"]


@pytest.mark.slow
def test_repeated_data_are_answered_for():
    """If the losses follow the law of repeated data, it answers, and names the number of different tokens."""
    table = draw(0, noise=0.001)
    different = float(np.median(table.tokens)) / 20
    law = replace(LAW, repetitions=5.0)
    repeated = replace(
        table,
        losses=table.losses / LAW.loss(table.parameters, table.tokens) * law.loss(table.parameters, table.tokens, different),
    )
    found = scaling_fit.fit_laws(repeated, different_tokens=different, resamples=50)
    answer = scaling_report.content(found, "x", 1e17).answers[0]
    assert "different ones, by the law parametric, repeated data, which expects a loss of" in answer
    plain = scaling_report.content(scaling_fit.fit_laws(table, resamples=50), "x", 1e17).answers[0]
    assert "by the law IsoFLOP. The law parametric expects a loss of" in plain
