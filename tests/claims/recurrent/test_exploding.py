"""The claim exploding: its verdict on made-up values, the task, and a quick run."""

import math

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.recurrent.exploding import (
    CONSTANT_LOSS,
    CURED,
    EXPLODED,
    FAST,
    SLOW,
    STATE,
    TRAINED,
    WITHOUT,
    ExplodingGradients,
    build,
    draw_sums,
    exploded_before_failing,
    last_error,
    norm_curves,
)
from glasshouse.claims.recurrent.stacked_networks import History
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def runs(failing):
    """Eight runs, of which so many fail."""
    return {seed: float(seed < failing) for seed in range(8)}


def values(exploding=8, stable=0, clipped=0, loss=0.06, unexploded=0):
    return {
        f"nan/{TRAINED}": runs(exploding),
        f"nan/{WITHOUT}": runs(stable),
        f"nan/{CURED}": runs(clipped),
        f"loss/{CURED}": close_values(loss),
        "unexploded": runs(unexploded),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"exploding": 6}, UPHELD),
        ({"exploding": 0}, TOO_SMALL),  # nothing becomes NaN, so nothing is cured
        ({"stable": 8, "exploding": 0}, REFUTED),
        ({"clipped": 8}, REFUTED),
        ({"loss": 0.3}, REFUTED),  # clipping avoids NaN, but the networks learn nothing
        ({"loss": CONSTANT_LOSS}, TOO_SMALL),
        ({"unexploded": 1}, REFUTED),
    ],
)
def test_exploding_gradients_must_be_the_cause_and_clipping_the_cure(changes, verdict):
    assert judge(ExplodingGradients, values(**changes)).verdict == verdict


def test_a_smaller_rate_and_another_cause_are_shown_beside_it():
    beside = {f"nan/{SLOW}": runs(0), f"loss/{SLOW}": close_values(0.4, shift=2), f"nan/{FAST}": runs(8)}
    finding = judge(ExplodingGradients, {**values(), **beside})
    assert finding.verdict == UPHELD
    found = {result.part.name.partition(":")[0]: result.outcome for result in finding.parts if not result.part.decides}
    assert (found["another cure"], found["its price"], found["another cause"]) == (UPHELD, UPHELD, UPHELD)
    worse = judge(ExplodingGradients, {**values(), **beside, f"nan/{FAST}": runs(0)})
    assert outcome(worse, ExplodingGradients.parts[7].name) == TOO_SMALL


def test_the_target_is_the_sum_of_one_marked_number_in_each_half():
    inputs, targets = draw_sums(torch.Generator().manual_seed(0), 10)
    numbers, marks = inputs.unbind(-1)
    assert marks[:, :5].sum(1).tolist() == marks[:, 5:].sum(1).tolist() == [1.0] * len(inputs)
    torch.testing.assert_close((numbers * marks).sum(1), targets)
    many = torch.cat([draw_sums(torch.Generator().manual_seed(seed), 10)[1] for seed in range(200)])
    assert float((many - 1).square().mean()) == pytest.approx(CONSTANT_LOSS, rel=0.05)


def test_a_network_has_its_spectral_radius_and_answers_after_the_last_step():
    torch.manual_seed(0)
    model = build(2.0)
    matrix = model.recurrence.forwards.recurrent.weight.detach()
    assert matrix.shape == (STATE, STATE)
    assert float(torch.linalg.eigvals(matrix).abs().max()) == pytest.approx(2.0, rel=1e-4)
    outputs = torch.tensor([[[9.0], [1.0]], [[9.0], [4.0]]])
    assert float(last_error(outputs, torch.tensor([2.0, 2.0]))) == (1 + 4) / 2


def test_a_gradient_counts_as_exploded_if_it_is_large_or_infinite():
    norms = torch.tensor([[1.0, 1.0, 1.0], [2 * EXPLODED, math.nan, math.inf], [math.nan, math.nan, math.nan]])
    assert exploded_before_failing(History(norms, norms)) == [True, False, True]


def test_the_curves_show_a_seed_that_fails_with_and_without_clipping():
    names = [TRAINED, TRAINED, CURED, CURED]
    norms = torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, math.inf, 3.0, 5.0]])
    curves = norm_curves(names, [False, True, False, False], norms)
    assert curves == {"norms/without clipping": ((0.0, 2.0),), "norms/clipped at 1": ((0.0, 4.0), (1.0, 5.0))}


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    trial = trials.try_claim("exploding", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(ExplodingGradients.quantities)
    assert series["nan/hopeless"].values == {0: 1.0, 1: 1.0}, "the first loss is infinite"
    assert max(series["first/0.7/40"].values.values()) < 2 < min(series["first/2/40"].values.values())
    assert len(trial.measured.curves["norms/clipped at 1"]) == 3
