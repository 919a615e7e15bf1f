"""The claim feed-forward-size: its parts on made-up losses, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch.feed_forward_size import SETTINGS, FeedForwardSize
from glasshouse.claims.from_scratch.speech_lm import NARROW, TEXTS, WIDE
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


@pytest.mark.parametrize(
    ("reported", "tuned", "noise", "verdict"),
    [
        (0.1, 0.1, 0.001, UPHELD),
        (0.1, -0.1, 0.001, DEPENDS),
        (0.1, 0.0, 0.001, DEPENDS),
        (-0.1, -0.1, 0.001, REFUTED),
        (0.01, 0.01, 0.001, TOO_SMALL),
        (0.1, 0.1, 1.0, UNDECIDED),
    ],
)
def test_the_larger_feed_forward_part_must_be_better_on_every_text_at_both_rates(reported, tuned, noise, verdict):
    gains = dict(zip(SETTINGS, (reported, tuned), strict=True))
    values = {}
    for setting, gain in gains.items():
        for text in TEXTS:
            values[f"{setting}/{text}/{NARROW}"] = close_values(6.0, noise)
            values[f"{setting}/{text}/{WIDE}"] = close_values(6.0 - gain, noise, shift=3)
    assert judge(FeedForwardSize, values).verdict == verdict


@pytest.mark.slow
def test_a_quick_run_measures_every_quantity(speeches):
    trial = trials.try_claim("feed-forward-size", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(FeedForwardSize.quantities)
    assert {setting for setting, _ in trial.finding.by_setting} == set(SETTINGS.values())
