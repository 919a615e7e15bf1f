"""Learning-rate schedules: warm-up, and the shape of each schedule."""

import pytest

from glasshouse.specs import spec_fields
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import schedules


def curve(**fields):
    """The learning rate of each of 100 steps."""
    return [schedules.rate(TrainingSpec(learning_rate=1.0, **fields), step, 100) for step in range(100)]


def test_warm_up_is_linear_and_constant_stays_at_the_peak():
    rates = curve(schedule="constant", warmup=0.1)
    assert rates[:10] == pytest.approx([(n + 1) / 10 for n in range(10)])
    assert set(rates[10:]) == {1.0}


def test_cosine_falls_from_the_peak_to_the_final_share():
    rates = curve(schedule="cosine", warmup=0.1, final=0.2)
    assert rates[10] == 1.0
    assert rates[55] == pytest.approx(0.6)
    assert 0.2 <= rates[99] < 0.21
    assert rates[10:] == sorted(rates[10:], reverse=True)


def test_warmup_stable_decay_falls_only_in_its_last_share():
    rates = curve(schedule="warmup-stable-decay", warmup=0.0, decay=0.25, final=0.0)
    assert rates[:75] == [1.0] * 75
    assert rates[99] == pytest.approx(0.04)


def test_every_choice_has_its_shape():
    rule = spec_fields.fields(TrainingSpec)["schedule"].rule
    assert set(schedules._SHAPES) == set(rule.choices)
