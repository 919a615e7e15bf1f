"""The claim nmt: its verdict on made-up losses, and quick runs with and without the course's lists."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.translation import course_translator, nmt
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values, spread_values
from tests.claims.judging import judge, outcome


def values(reported=0.3, tuned=0.3, noise=1.0):
    """Losses of the large list; those of the small list are 0.5."""
    series = {}
    for study, loss in (("reported", reported), ("tuned", tuned)):
        series[f"{study}/test.loss/64/small"] = spread_values(0.5, noise)
        series[f"{study}/test.loss/64/large"] = spread_values(loss, noise, shift=3)
    return series


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        (values(), UPHELD),
        (values(reported=0.6, tuned=0.6), REFUTED),
        (values(reported=0.49, tuned=0.49), TOO_SMALL),
        (values(noise=20), UNDECIDED),
        (values(tuned=0.49), DEPENDS),
        (values(reported=0.6), DEPENDS),
    ],
)
def test_more_data_must_help_at_both_learning_rates_and_by_more_than_the_margin(losses, verdict):
    assert judge(nmt.NMT, losses).verdict == verdict


def test_what_is_shown_beside_it_does_not_decide():
    beside = {
        "stand-in/test.loss/64/small": close_values(0.2),
        "stand-in/test.loss/64/large": close_values(0.9, shift=3),
        "reported/test.loss/32/small": close_values(0.8),
        "reported/test.loss/32/large": close_values(1.1, shift=3),
    }
    finding = judge(nmt.NMT, {**values(), **beside})
    assert finding.verdict == UPHELD
    assert (
        outcome(finding, "trained on the large list, the loss is lower, h 64", "stand-in: generated word lists") == REFUTED
    )
    assert outcome(finding, "trained on the large list, the loss is lower, h 32") == REFUTED


def test_every_study_has_the_arms_that_are_measured():
    for plan in nmt.NMT.studies:
        arms = trials.arms.expand(trials.arms.parse(plan.words))
        _, widths, lists = nmt.STUDIES[plan.name]
        assert {arm.name for arm in arms} == {nmt.arm_name(plan.name, width, size) for width in widths for size in lists}
        assert {arm.spec.training.steps for arm in arms} == {course_translator.STEPS}
        norms = {arm.spec.model.norm for arm in arms}
        assert norms == ({"layer"} if plan.name == "own-layer" else {"none"})


@pytest.mark.slow
def test_a_quick_run_measures_everything(word_lists):
    trial = trials.try_claim("nmt", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(nmt.NMT.quantities)
    large = trial.measured.series["tuned/test.loss/64/large"]
    assert len(large.items[0]) == 3, "a tenth of the 30 words of the small list"
    assert large.values[0] == pytest.approx(sum(large.items[0]) / 3, rel=1e-4)
    gain, small = (trial.measured.series[key].values[1] for key in ("gain/64", "reported/test.loss/64/small"))
    assert gain == pytest.approx(small - trial.measured.series["reported/test.loss/64/large"].values[1], abs=1e-6)


@pytest.mark.slow
def test_without_the_course_lists_only_the_stand_in_is_tried(no_word_lists):
    trial = trials.try_claim("nmt", quick=True, device="cpu").trials[-1]
    assert trial.finding.verdict == UNDECIDED
    assert {key.partition("/")[0] for key in trial.measured.series} == {"stand-in"}
