"""The chart of differences: a dot per pair of seeds, the margin as a band, outliers outside, distinct styles."""

from glasshouse.pages import study_differences
from glasshouse.pages.chart import Dots

from . import example_study as example


def test_every_pair_of_seeds_is_a_dot_and_the_margin_is_a_band() -> None:
    study = example.study()
    band, zero, *arms = study_differences.differences(study).series
    dots = [next(mark for mark in arm.marks if isinstance(mark, Dots)) for arm in arms]
    assert [len(mark.x) for mark in dots] == [16, 16, 16, 14]
    low, high = study_differences.value_range(study) or (0, 0)
    assert low < -0.14
    assert high > 0.2
    assert list(band.marks[0].x) == [-0.035, 0.035]
    assert list(zero.marks[0].x) == [0, 0]


def test_an_outlying_arm_is_outside_the_chart_and_its_value_is_written() -> None:
    study = example.many_arms()
    limits = study_differences.value_range(study)
    assert limits is not None
    assert limits[1] < 0.3
    assert "+9.400×10⁸ →" in [text.text for text in study_differences.differences(study).texts]
    assert "number 7 of twenty-one is outside the chart (every seed)" in " ".join(study_differences.remarks(study))
    # If most arms are far from the first, none is an outlier.
    assert study_differences.limit_without_outliers([0.02, 5.0, 5.1, 5.2]) == 5.2


def test_twenty_arms_have_different_styles() -> None:
    study = example.many_arms()
    styles = study_differences.styles(study)
    assert len(set(styles)) == len(study.arms)
    assert (styles[0].tone, styles[0].dash) == ("quiet", 0)
