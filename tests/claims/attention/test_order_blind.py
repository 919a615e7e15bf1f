"""The claim order-blind: its verdict on made-up values, what a permutation changes, and a quick run."""

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.attention import catalogue_models, order_blind
from glasshouse.claims.attention.order_blind import BAG, COUNT, LEARNED, LENGTHS, NONE, ORDER, OrderBlind
from glasshouse.results.claim import REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(changed=0.0, learned=1.0, blind=0.5, noise=0.001):
    """An accuracy with learned positions and one without; `changed` outputs change under a permutation."""
    series = {"full": dict.fromkeys(range(8), changed)}
    for length in LENGTHS:
        series[f"{ORDER}/{length}/{LEARNED}"] = close_values(learned, noise)
        series[f"{ORDER}/{length}/{NONE}"] = close_values(blind, noise, shift=2)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"changed": 1.0}, REFUTED),
        ({"blind": 0.8}, REFUTED),  # a model without positions that learns the task
        ({"learned": 0.502}, TOO_SMALL),
        ({"learned": 0.4}, REFUTED),
        ({"noise": 0.5}, UNDECIDED),
    ],
)
def test_order_must_be_lost_exactly_and_cost_accuracy(changes, verdict):
    assert judge(OrderBlind, values(**changes)).verdict == verdict


def test_the_control_task_and_the_bag_of_words_are_shown_beside_it():
    beside = {
        f"{COUNT}/16/{LEARNED}": close_values(0.99),
        f"{COUNT}/16/{NONE}": close_values(0.9, shift=2),
        f"{ORDER}/16/{BAG}": close_values(0.5, shift=3),
        "exact/linformer": dict.fromkeys(range(8), 0.0),
    }
    finding = judge(OrderBlind, {**values(), **beside})
    assert finding.verdict == UPHELD
    assert outcome(finding, "control: which is named twice, 16 words: positions are not needed") == REFUTED
    name = "which is named first, 16 words: attention without positions adds nothing to a bag of words"
    assert outcome(finding, name) == UPHELD
    assert outcome(finding, "exception: a permutation changes outputs, linformer") == UPHELD


@pytest.mark.parametrize(
    ("attention", "position", "causal", "changes"),
    [
        ("dot-product", "none", False, False),
        ("performer", "none", False, False),
        ("dot-product", "learned", False, True),
        ("dot-product", "alibi", False, True),
        ("local-window", "none", False, True),
        ("linformer", "none", False, True),
        ("dot-product", "none", True, True),
    ],
)
def test_only_what_knows_places_is_changed_by_a_permutation(attention, position, causal, changes):
    generator = torch.Generator().manual_seed(0)
    spec = catalogue_models.model_spec("encoder", causal, attention, position)
    model = catalogue_models.random_model(spec, generator).double()
    assert (order_blind.outputs_changed(model, generator) > 0) == changes


def test_one_draw_finds_no_change_and_every_exception():
    assert set(order_blind.check(torch.Generator().manual_seed(0)).values()) == {0.0}


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    series = trials.try_claim("order-blind", quick=True, device="cpu").trials[-1].measured.series
    assert set(series) == set(OrderBlind.quantities)
    assert series[f"{ORDER}/8/{BAG}"].values == dict.fromkeys((0, 1), 0.5), "a bag of words is right on half of the texts"
