"""The claim bidirectional-gain: its verdict on made-up accuracies, the sizes of its arms, and a quick run."""

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.recurrent import bidirectional_gain
from glasshouse.claims.recurrent.bidirectional_gain import (
    ARMS,
    DEPEND_ON_THE_PAST,
    EQUAL_PARAMETERS,
    EQUAL_STATES,
    ONE,
    RATES,
    TASKS,
    BidirectionalGain,
    builder,
    choose_rates,
)
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(wider=0.0, smaller=-0.02, known=0.7, noise=0.01):
    """Both directions change the accuracy of the past tasks by these amounts, and gain `known` on the future task."""
    series = {}
    for task in DEPEND_ON_THE_PAST:
        series[f"{task}/{ONE}"] = close_values(0.97, noise)
        series[f"{task}/{EQUAL_STATES}"] = close_values(0.97 + wider, noise, shift=2)
        series[f"{task}/{EQUAL_PARAMETERS}"] = close_values(0.97 + smaller, noise, shift=3)
    series[f"future/4/{ONE}"] = close_values(0.25, noise)
    series[f"future/4/{EQUAL_PARAMETERS}"] = close_values(0.25 + known, noise, shift=3)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"wider": 0.004}, UPHELD),
        ({"wider": 0.03}, REFUTED),
        ({"smaller": 0.03}, REFUTED),
        ({"noise": 0.5}, UNDECIDED),
        ({"known": 0.0}, TOO_SMALL),  # networks that cannot use the future show nothing about its use
    ],
)
def test_one_direction_must_be_as_good_wherever_the_past_suffices(changes, verdict):
    assert judge(BidirectionalGain, values(**changes)).verdict == verdict


def test_a_gain_on_one_past_task_refutes_and_a_gain_on_the_hidden_state_does_not():
    better = {**values(), f"filtered/{EQUAL_STATES}": close_values(1.0, 0.01, shift=2)}
    assert judge(BidirectionalGain, better).verdict == REFUTED
    hidden = {f"hidden/{ONE}": close_values(0.75), f"hidden/{EQUAL_PARAMETERS}": close_values(0.84, shift=2)}
    finding = judge(BidirectionalGain, {**values(), **hidden})
    assert finding.verdict == UPHELD
    assert outcome(finding, BidirectionalGain.parts[-1].name) == UPHELD


def test_both_directions_have_as_many_parameters_or_as_many_states():
    counts = {arm: sum(tensor.numel() for tensor in builder(arm)().parameters()) for arm in ARMS}
    assert abs(counts[EQUAL_PARAMETERS] / counts[ONE] - 1) < 0.05
    assert counts[EQUAL_STATES] > 1.9 * counts[ONE]
    assert ARMS[EQUAL_STATES] == (ARMS[ONE][0], ARMS[ONE][0])


def test_the_learning_rate_with_the_highest_accuracy_is_chosen_for_each_task(monkeypatch):
    seen: list[int] = []

    class Trained:
        def __init__(self, runs):
            self.runs = runs

        def score(self, *_):
            return [float(rate == (RATES[2] if task == "hidden" else RATES[1])) for task, rate, _ in self.runs]

    def train(arm, runs, steps, device):
        seen.extend(seed for _, _, seed in runs)
        return Trained(runs)

    monkeypatch.setattr(bidirectional_gain, "train", train)
    rates = choose_rates(ONE, 1, torch.device("cpu"))
    assert rates == {**dict.fromkeys(TASKS, RATES[1]), "hidden": RATES[2]}
    assert min(seen) >= 1_000_000, "seeds that no trial uses"


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    trial = trials.try_claim("bidirectional-gain", quick=True, device="cpu").trials[-1]
    assert set(trial.measured.series) == set(BidirectionalGain.quantities)
    assert all(0 < value < 1 for series in trial.measured.series.values() for value in series.values.values())
    facts = dict(trial.measured.facts)
    assert facts["one direction"] == "4,164 parameters, 2 steps"
    assert facts["both directions, as many parameters"] == "4,078 parameters, 2 steps"


@pytest.mark.slow
def test_one_direction_learns_the_past_and_not_the_future():
    runs = [("past/1", 0.03, 0), ("future/1", 0.03, 0)]
    networks = bidirectional_gain.train(ONE, runs, 60, torch.device("cpu"))
    past, future = networks.score(bidirectional_gain.tagging_tasks.tagging_accuracy, 8)
    assert past > 0.9
    assert future < 0.35
