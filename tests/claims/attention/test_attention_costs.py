"""The costs of attention: exponents of known costs, and peak memory against what is allocated."""

import pytest
import torch

from glasshouse.claims.attention import attention_costs
from glasshouse.claims.attention.attention_costs import FUSED, KINDS, PLAIN, Costs


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_that_power(power):
    costs = {length: 3.0 * length**power for length in (64, 128, 256, 512)}
    assert attention_costs.exponent(costs) == pytest.approx(power)


def test_the_exponent_is_of_the_longest_lengths():
    # A constant dominates the short ones, as the time to launch kernels does.
    costs = {length: max(1e6, length**2) for length in (8, 16, 1024, 2048, 4096)}
    assert attention_costs.exponent(costs) == pytest.approx(2)


def test_lengths_that_do_not_fit_into_memory_are_left_out(monkeypatch):
    def one_pass(kind, length, device):
        def once():
            if length > 32:
                raise torch.OutOfMemoryError

        return once

    monkeypatch.setattr(attention_costs, "_pass", one_pass)
    table = attention_costs._measure("cpu", {PLAIN: (16, 32, 64), FUSED: (64,)}, 3)
    assert {length: len(row) for length, row in table[PLAIN]["seconds"].items()} == {"16": 3, "32": 3}
    assert table[FUSED] == {"seconds": {}, "bytes": {}}


def test_a_timing_is_that_of_the_fastest_pass(monkeypatch):
    # Four readings of the clock: one pass of 5 seconds, then one of 1 second.
    monkeypatch.setattr(attention_costs.time, "perf_counter", iter([0.0, 5.0, 5.0, 6.0]).__next__)
    assert attention_costs.pass_seconds(lambda: None, "cpu") == 1.0


def test_every_round_has_its_own_exponent():
    costs = Costs({10: [1.0, 1.0], 20: [2.0, 4.0], 40: [4.0, 16.0]}, {})
    assert attention_costs.time_exponents(costs).values == pytest.approx({0: 1.0, 1: 2.0})
    assert attention_costs.milliseconds(costs, 20).values == pytest.approx({0: 2000.0, 1: 4000.0})


def test_peak_memory_counts_what_is_held_at_one_time():
    def one_after_another():
        for _ in range(5):
            torch.ones(1000)

    def together():
        held = [torch.ones(1000) for _ in range(5)]
        assert len(held) == 5

    assert attention_costs.peak_bytes(one_after_another, "cpu") == 4000
    assert attention_costs.peak_bytes(together, "cpu") == 5 * 4000


@pytest.mark.slow
def test_the_plain_path_stores_weights_and_the_fused_one_does_not():
    plain, fused = (
        {n: attention_costs.peak_bytes(attention_costs._pass(kind, n, "cpu"), "cpu") for n in (512, 1024, 2048)}
        for kind in (PLAIN, FUSED)
    )
    assert attention_costs.exponent(plain) == pytest.approx(2, abs=0.2)
    assert attention_costs.exponent(fused) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_runs_forward_and_backward(kind):
    attention = attention_costs.build(kind, 32)
    x = torch.randn(1, 32, attention_costs.WIDTH, requires_grad=True)
    attention(x).sum().backward()
    assert x.grad.isfinite().all()
    assert attention.needs_weights == (kind == PLAIN)
