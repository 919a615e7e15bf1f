"""The claim model-size: its verdict on made-up losses, differences of series, and quick runs."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.scaling import model_size
from glasshouse.claims.scaling.model_size import BEST, LARGER, SMALLER, ModelSize
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD, Series
from tests.claims.example_values import close_values, spread_values
from tests.claims.judging import judge, outcome

LIKE_REPORTED = (0.487, 0.425)


def values(reported=LIKE_REPORTED, tuned=LIKE_REPORTED, noise=1.0):
    """Test losses at (64, 128); at 96 it is 0.314."""
    series = {}
    for study, (smaller, larger) in (("reported", reported), ("tuned", tuned)):
        series[f"{study}/test.loss/{BEST}"] = spread_values(0.314, noise)
        series[f"{study}/test.loss/{SMALLER}"] = spread_values(smaller, noise, shift=3)
        series[f"{study}/test.loss/{LARGER}"] = spread_values(larger, noise, shift=5)
    return series


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        (values(), UPHELD),
        (values(reported=(0.487, 0.2), tuned=(0.487, 0.2)), REFUTED),  # the largest is the best
        (values(reported=(0.2, 0.425), tuned=(0.2, 0.425)), REFUTED),  # the optimum is smaller
        (values(reported=(0.487, 0.315), tuned=(0.487, 0.315)), TOO_SMALL),
        (values(noise=20), UNDECIDED),
        (values(tuned=(0.487, 0.2)), DEPENDS),
    ],
)
def test_the_middle_size_must_be_better_than_both_neighbours_at_both_rates(losses, verdict):
    assert judge(ModelSize, losses).verdict == verdict


def test_overfitting_is_shown_and_does_not_decide():
    gaps = {f"reported/gap/{BEST}": close_values(0.1), f"reported/gap/{LARGER}": close_values(0.0, shift=3)}
    finding = judge(ModelSize, {**values(), **gaps})
    assert finding.verdict == UPHELD
    assert outcome(finding, f"h {LARGER} overfits more than h {BEST}, at the reported learning rate") == REFUTED


def test_a_gap_is_measured_in_common_seeds():
    assert model_size.difference(Series({1: 0.5, 2: 0.6}), Series({2: 0.2})).values == {2: pytest.approx(0.4)}


def test_every_study_has_the_six_sizes():
    for plan in ModelSize.studies:
        arms = trials.arms.expand(trials.arms.parse(plan.words))
        assert [arm.name for arm in arms] == [str(width) for width in model_size.WIDTHS]
        assert {arm.spec.training.own["loss_on"] for arm in arms} == {"target"}


@pytest.mark.slow
def test_a_quick_run_measures_everything(word_lists):
    trial = trials.try_claim("model-size", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(ModelSize.quantities)
    test, train, gap = (trial.measured.series[f"tuned/{key}/96"].values[1] for key in ("test.loss", "train.loss", "gap"))
    assert gap == pytest.approx(test - train, abs=1e-6)
    assert len(trial.measured.series["tuned/test.loss/128"].items[0]) == 3, "a tenth of the 30 words of the small list"


@pytest.mark.slow
def test_without_the_course_list_only_the_stand_in_is_tried(no_word_lists):
    trial = trials.try_claim("model-size", quick=True, device="cpu").trials[-1]
    assert trial.finding.verdict == UNDECIDED
    assert {key.partition("/")[0] for key in trial.measured.series} == {"stand-in"}
