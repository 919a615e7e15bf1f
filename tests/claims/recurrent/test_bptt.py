"""The claim bptt: which entries the reported formulas get wrong, and that an error of a repaired formula would be seen."""

import pytest
import torch

from glasshouse.claims.recurrent import bptt
from glasshouse.claims.recurrent.bptt import AUTOGRAD, NO_POWER, BackpropagationThroughTime, compare_formulas, random_network
from glasshouse.results.claim import REFUTED, UPHELD
from tests.claims.judging import judge, outcome


def test_each_reported_formula_fails_where_something_was_left_out():
    values = compare_formulas(*random_network(torch.Generator().manual_seed(0), 3, 2))
    assert values["elementwise"] > 0
    assert values["no-power"] == 4, "the gradient of J_3 by h_1: the only one with a power above 1"
    assert values["no-sum"] == 16, "the gradient of J_3: with h_0 = 0 the sum of J_2 has one term"
    assert (values["output"], values["power"], values["sum"], values["backward"]) == (0, 0, 0, 0)


def test_two_steps_hide_the_missing_power_and_the_missing_sum():
    values = compare_formulas(*random_network(torch.Generator().manual_seed(0), 2, 2))
    assert values["elementwise"] > 0
    assert values["no-power"] == values["no-sum"] == 0


def test_a_small_error_in_a_repaired_formula_is_found(monkeypatch):
    right = bptt.output_gradient
    monkeypatch.setattr(bptt, "output_gradient", lambda *arguments: right(*arguments) + 1e-9)
    values = compare_formulas(*random_network(torch.Generator().manual_seed(0), 3, 2))
    assert values["output"] == 6
    assert values["power"] > 0


def test_the_claim_is_refuted_by_each_formula_alone():
    right = {key: {0: 0.0, 1: 0.0} for key in ("elementwise", "no-matrix", "no-power", "no-sum")}
    assert judge(BackpropagationThroughTime, right).verdict == UPHELD
    for key in right:
        assert judge(BackpropagationThroughTime, {**right, key: {0: 0.0, 1: 1.0}}).verdict == REFUTED
    finding = judge(BackpropagationThroughTime, {**right, "backward": {0: 1.0}})
    assert finding.verdict == UPHELD, "the repaired formulas do not decide about the reported ones"
    assert outcome(finding, BackpropagationThroughTime.parts[-1].name) == REFUTED


def test_the_figure_shows_what_the_power_does():
    draws = [BackpropagationThroughTime().check(torch.Generator().manual_seed(seed)) for seed in range(8)]

    def mean(key):
        return sum(values[key] for values in draws) / len(draws)

    assert mean(f"{AUTOGRAD}/0.7/12") < 0.2 * mean(f"{AUTOGRAD}/0.7/0")
    assert mean(f"{AUTOGRAD}/1.3/12") > 2 * mean(f"{AUTOGRAD}/1.3/0")
    for values in draws:
        assert values[f"{NO_POWER}/1.3/12"] == values[f"{NO_POWER}/1.3/1"] == pytest.approx(values[f"{AUTOGRAD}/1.3/1"])
