"""The claim alibi-speed: savings of builds, judged on made-up values, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.positions import alibi_speed
from glasshouse.claims.positions.alibi_speed import MODELS, AlibiSpeed
from glasshouse.claims.step_timing import AGAIN
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from glasshouse.training import cost_plan
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(classifier=0.1, language_model=0.1, again=0.0, noise=0.005, processor=-0.5):
    """The verdict if ALiBi saves these shares of a step, and a copy of the same model this share."""
    values = {}
    for model, saving in (("classifier", classifier), ("language-model", language_model)):
        values[f"here/{model}/saving/alibi"] = close_values(saving, noise)
        values[f"here/{model}/saving/{AGAIN}"] = close_values(again, noise, shift=3)
        values[f"processor/{model}/saving/alibi"] = close_values(processor, noise)
    return judge(AlibiSpeed, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, UPHELD),
        ({"language_model": -0.05}, REFUTED),
        ({"classifier": 0.01}, TOO_SMALL),
        ({"classifier": -0.01}, TOO_SMALL),
        ({"again": 0.02}, UNDECIDED),  # two names for one thing may differ by the margin
        ({"noise": 0.5}, UNDECIDED),
    ],
)
def test_both_models_must_save_time_on_a_steady_machine(values, expected):
    assert verdict(**values) == expected


def test_a_saving_is_paired_by_round_and_a_build_is_one_value():
    """The machine becomes twice as slow in the second build; an outlier does not matter."""
    learned = [1.0, 1.0, 9.0, 2.0, 2.0, 2.0]
    alibi = [0.9, 0.9, 0.9, 1.9, 1.9, 1.9]
    savings = alibi_speed.savings(learned, alibi, builds=2).values
    assert savings == {0: pytest.approx(0.1), 1: pytest.approx(0.05)}
    assert alibi_speed.medians(learned, builds=2).values == {0: 1.0, 1: 2.0}


@pytest.mark.slow
def test_a_quick_run_times_both_models_and_a_copy_of_the_first(speeches, monkeypatch):
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    trial = trials.try_claim("alibi-speed", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    for model in MODELS:
        assert set(series[f"here/{model}/saving/{AGAIN}"].values) == {0, 1}
        assert min(series[f"here/{model}/milliseconds/alibi"].values.values()) > 0
    assert not any(key.startswith("processor/") for key in series), "the processor is the device of this trial"
