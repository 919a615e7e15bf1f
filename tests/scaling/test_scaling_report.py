"""A fit in words and pictures."""

from glasshouse.pages import scaling_page
from glasshouse.scaling import scaling_fit, scaling_report
from glasshouse.scaling.scaling_fit import LawEstimate

from .known_law import draw


def test_numbers_have_the_digits_of_their_intervals():
    assert scaling_report.number_interval(LawEstimate(0.4516, 0.43, 0.47)) == "0.452 (0.430 to 0.470)"
    assert scaling_report.count_interval(LawEstimate(2.31e6, 6.8e4, 7.7e7)) == "2.3 M (68.0 K to 77.0 M)"


def test_the_page_answers_and_shows_all_pictures():
    found = scaling_fit.fit_laws(draw(0), resamples=100)
    content = scaling_report.content(found, "a <study>", 1e18)
    assert "31 times the largest measured compute" in content.answers[0]
    assert len(content.curves) == 6
    assert all(curve.used for curve in content.curves)
    assert content.contours
    page = scaling_page.render(content)
    assert page.count("<svg") == 5  # the mark and four figures
    assert "a &lt;study&gt;" in page
    assert "NaN" not in page.replace("NaN-", "")
    assert "within the measured budgets" in scaling_report.content(found, "x", 1e16).answers[0]
