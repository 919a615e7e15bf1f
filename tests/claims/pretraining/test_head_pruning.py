"""The claim head-pruning: its verdict on made-up values, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining.head_pruning import HeadPruning
from glasshouse.inspection.importance import METHODS
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(removable=0.5, **correlations):
    return {
        **{
            f"correlation/{method}": close_values(correlations.get(method, 0.6), 0.02, shift=index)
            for index, method in enumerate(METHODS)
        },
        "removable/loss/ablation": close_values(removable, 0.01),
    }


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (values(), UPHELD),
        (values(attention=-0.4), REFUTED),
        (values(attention=0.05), TOO_SMALL),
        (values(removable=0.1), REFUTED),
        (values(removable=0.27), TOO_SMALL),
    ],
)
def test_each_importance_must_predict_the_damage_and_many_heads_must_be_removable(measured, verdict):
    assert judge(HeadPruning, measured).verdict == verdict


@pytest.mark.slow
def test_a_quick_run_measures_everything_that_its_few_heads_allow():
    series = trials.try_claim("head-pruning", quick=True, device="cpu").trials[-1].measured.series
    assert {"correlation/gradient", "loss/random/0.5", "trained/ablation/0.5", "kind/heads", "removable/few"} <= set(series)
    assert series["loss/gradient/0"].values == series["loss/random/0"].values
