"""Claims of mathematics: their verdicts on random numbers, and that the verdict would change with the numbers."""

from functools import cache

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.random_check import RandomCheck, differing
from glasshouse.results.claim import EXACT, REFUTED, UPHELD
from glasshouse.specs import catalogue
from tests.claims.judging import judge, outcome

VERDICTS = {
    "attention-rows": UPHELD,
    "multi-head": UPHELD,
    "mask-by-zero-key": REFUTED,
    "padding-only": REFUTED,
    "output-shape": REFUTED,
    "encoder-as-lm": UPHELD,
    "linear-projection": UPHELD,
    "conv-by-attention": REFUTED,
    "maxpool-by-attention": REFUTED,
    "relu-chain": REFUTED,
    "sigmoid-rnn-jacobian": UPHELD,
    "bptt": REFUTED,
    "distribution-recovery": REFUTED,
}
DRAWS = 4
# Each draw trains a model.
SLOW = ("encoder-as-lm",)
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in VERDICTS]


@cache
def _draws(name: str) -> tuple[dict[str, float], ...]:
    claim = trials.find_claim(name)
    assert issubclass(claim, RandomCheck)
    return tuple(dict(claim().check(torch.Generator().manual_seed(seed))) for seed in range(DRAWS))


def measured(name: str) -> tuple[type[RandomCheck], dict[str, dict[int, float]]]:
    """The claim and the values of a few draws: quantity -> seed -> value."""
    claim = trials.find_claim(name)
    assert issubclass(claim, RandomCheck)
    return claim, {key: {seed: row[key] for seed, row in enumerate(_draws(name))} for key in claim.quantities}


def test_every_claim_on_random_numbers_is_listed():
    found = [name for name in catalogue.names("claim") if issubclass(trials.find_claim(name), RandomCheck)]
    assert sorted(found) == sorted(VERDICTS)


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_follows_from_the_numbers(name):
    claim, values = measured(name)
    assert judge(claim, values).verdict == VERDICTS[name]
    deciding = [part.quantity for part in claim.parts if part.decides]
    for quantity in deciding:
        values[quantity] = dict.fromkeys(range(DRAWS), 0.0)
    assert judge(claim, values).verdict == UPHELD
    values[deciding[0]] = {**values[deciding[0]], 0: 1.0}
    assert judge(claim, values).verdict == REFUTED


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_values(name):
    claim, values = measured(name)
    again = claim().check(torch.Generator().manual_seed(0))
    assert again == {key: series[0] for key, series in values.items()}


@pytest.mark.parametrize("name", [name for name, verdict in VERDICTS.items() if verdict == REFUTED])
def test_what_is_wrong_has_a_repaired_version_that_holds(name):
    claim, values = measured(name)
    finding = judge(claim, values)
    repaired = [part.name for part in claim.parts if not part.decides and part.kind == EXACT]
    assert repaired
    assert all(outcome(finding, part) == UPHELD for part in repaired)


def test_numbers_that_are_not_finite_differ():
    assert differing(torch.tensor([1.0, float("nan"), 2.0]), torch.tensor([1.0, 0.0, 2.1])) == 2
