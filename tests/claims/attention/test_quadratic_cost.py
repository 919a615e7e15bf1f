"""The claim quadratic-cost: its verdict on made-up exponents, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.attention.attention_costs import CPU, CUDA, DEVICES, FUSED, PLAIN
from glasshouse.claims.attention.quadratic_cost import QuadraticCost
from glasshouse.results.claim import DEPENDS, REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge

RIGHT = {
    **{f"time/{device}/{path}": close_values(2.0, 0.05) for device in DEVICES for path in (PLAIN, FUSED)},
    **{f"memory-off/{device}/{path}": {0: 0.0} for device in DEVICES for path in (PLAIN, FUSED)},
}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({f"time/{CUDA}/{FUSED}": close_values(1.2, 0.05)}, DEPENDS),
        ({f"time/{device}/{FUSED}": close_values(1.2, 0.05) for device in DEVICES}, REFUTED),
        ({f"memory-off/{device}/{FUSED}": {0: 1.0} for device in DEVICES}, REFUTED),
        ({f"time/{CPU}/{PLAIN}": close_values(2.0, 3.0)}, UNDECIDED),
    ],
)
def test_exponents_must_be_those_of_theory_on_each_device(changes, verdict):
    assert judge(QuadraticCost, {**RIGHT, **changes}).verdict == verdict


def test_without_a_gpu_nothing_is_decided():
    assert judge(QuadraticCost, {key: row for key, row in RIGHT.items() if CUDA not in key}).verdict == UNDECIDED


@pytest.mark.slow
def test_a_quick_run_measures_the_cpu():
    trial = trials.try_claim("quadratic-cost", quick=True, device="cpu").trials[-1]
    assert {f"time/{CPU}/{path}" for path in (PLAIN, FUSED)} <= set(trial.measured.series) <= set(QuadraticCost.quantities)
