"""The control of the models from scratch: judged on made-up values, and a whole quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch.controls import FromScratchControl
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdict(again=0.0, large=0.04, small=0.005, commonest=0.27, untrained=8.5):
    values = {"loss/untrained": close_values(untrained), "loss/trigram": close_values(5.5)}
    values |= {"accuracy/untrained": close_values(0.33), "accuracy/commonest": close_values(commonest)}
    values["accuracy/linear"] = close_values(0.6)
    for measure, mean in (("loss", 6.0), ("accuracy", 0.55)):
        values[f"{measure}/first"] = close_values(mean)
        for name, difference in (("second", 0.0), ("large", large), ("small", small)):
            values[f"{measure}/{name}"] = close_values(mean + again + difference, shift=3)
    return judge(FromScratchControl, values).verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, UPHELD),
        ({"again": 0.05}, REFUTED),  # two names for one thing differ
        ({"again": 0.02}, UNDECIDED),
        ({"large": 0.0}, TOO_SMALL),  # the planted effect is not found
        ({"small": 0.03}, UPHELD),  # shown beside it
        ({"untrained": 5.0}, REFUTED),
        ({"commonest": 0.7}, REFUTED),
    ],
)
def test_a_sound_trial_gives_the_known_answers(values, expected):
    assert verdict(**values) == expected


@pytest.mark.slow
def test_a_quick_run_pairs_the_two_names_and_plants_the_effects(speeches):
    trial = trials.try_claim("from-scratch-control", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(FromScratchControl.quantities)
    for measure in ("loss", "accuracy"):
        first, second, large = (series[f"{measure}/{name}"].values for name in ("first", "second", "large"))
        assert set(first) == set(second) == {0, 1}
        assert large[0] == pytest.approx(second[0] + 0.04)
    assert series["loss/first"].values != series["loss/second"].values
