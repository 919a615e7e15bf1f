"""The claim efficient-attention: its series from made-up costs, its verdicts, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.attention.attention_costs import CPU, CUDA, FUSED, LINFORMER, PERFORMER, PLAIN, WINDOW, Costs
from glasshouse.claims.attention.efficient_attention import AGAIN, LONG, PLAIN_LENGTHS, EfficientAttention, cost_series
from glasshouse.results.claim import DEPENDS, REFUTED, UPHELD
from tests.claims.judging import judge, outcome

ROUNDS = 16


def costs(device, linear_factor=1.0, memory_factor=1.0):
    """Full attention of quadratic time and linear ones, with 1 % of noise."""

    def noisy(seconds):
        return [seconds * (1 + 0.01 * ((7 * number) % 5 - 2)) for number in range(ROUNDS)]

    def kind(power, factor, lengths, memory):
        return Costs({n: noisy(factor * n**power) for n in lengths}, {n: memory * n for n in lengths})

    long = LONG[device]
    lengths = sorted({*long, *PLAIN_LENGTHS[device]})
    efficient = dict.fromkeys((WINDOW, LINFORMER, PERFORMER), kind(1, long[-1] / 4 * linear_factor, lengths, memory_factor))
    plain = Costs({n: noisy(n**2) for n in lengths}, {n: float(n * n) for n in lengths})
    return {PLAIN: plain, FUSED: kind(2, 1.0, lengths, 1.0), AGAIN: kind(2, 1.0, lengths, 1.0), **efficient}


def series(cpu, cuda):
    return {key: row.values for made in (cost_series(CPU, cpu), cost_series(CUDA, cuda)) for key, row in made.items()}


def test_ratios_are_those_at_the_longest_length():
    made = cost_series(CPU, costs(CPU))
    assert made[f"time/{CPU}/{WINDOW}"].values[0] == pytest.approx(0.25)
    assert made[f"exponent/{CPU}/{WINDOW}"].values[3] == pytest.approx(1)
    assert made[f"exponent/{CPU}/{FUSED}"].values[3] == pytest.approx(2)
    assert made[f"memory/{CPU}/{WINDOW}/{PLAIN}"].values == {0: pytest.approx(1 / PLAIN_LENGTHS[CPU][-1])}
    assert made[f"not-less/{CPU}/{FUSED}"].values == {0: 1.0, 1: 1.0, 2: 1.0}


@pytest.mark.parametrize(
    ("cpu", "cuda", "verdict"),
    [
        (costs(CPU), costs(CUDA), UPHELD),
        (costs(CPU, linear_factor=8), costs(CUDA), DEPENDS),
        (costs(CPU, linear_factor=8), costs(CUDA, linear_factor=8), REFUTED),
    ],
)
def test_each_kind_must_cost_less_on_each_device(cpu, cuda, verdict):
    finding = judge(EfficientAttention, series(cpu, cuda))
    assert finding.verdict == verdict
    # Linear memory that equals the fused kernel's is shown beside the verdict.
    assert outcome(finding, "cpu: all three need less memory than full attention (fused)", CPU) == REFUTED


@pytest.mark.slow
def test_a_quick_run_measures_costs_and_quality():
    trial = trials.try_claim("efficient-attention", quick=True, device="cpu").trials[-1]
    assert {f"loss/{kind}" for kind in (FUSED, WINDOW, LINFORMER, PERFORMER)} <= set(trial.measured.series)
