"""The claim residual-identity: its verdict on made-up values, similarities, the probe, and a quick run."""

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.attention import residual_identity, token_identity
from glasshouse.claims.attention.residual_identity import DEPTHS, INITIAL, SETTINGS, TRAINED, WITH, WITHOUT, ResidualIdentity
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(setting, alike=0.99, alike_with=0.5, read=0.04, read_with=0.95):
    last = DEPTHS[setting][-1]
    return {
        f"{setting}/similarity/{WITHOUT}/{last}": close_values(alike),
        f"{setting}/similarity/{WITH}/{last}": close_values(alike_with, shift=1),
        f"{setting}/read/{WITHOUT}/{last}": close_values(read),
        f"{setting}/read/{WITH}/{last}": close_values(read_with, shift=2),
        f"{setting}/commonest": close_values(0.03, shift=3),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"alike": 0.3}, REFUTED),
        ({"alike": 0.7}, REFUTED),  # more alike, and not yet alike
        ({"alike_with": 0.98}, TOO_SMALL),
        ({"read": 0.5}, REFUTED),  # read back less often, and not lost
        ({"read_with": 0.03}, REFUTED),
    ],
)
def test_positions_must_be_alike_and_tokens_lost(changes, verdict):
    both = {key: series for setting in SETTINGS for key, series in values(setting, **changes).items()}
    assert judge(ResidualIdentity, both).verdict == verdict


def test_a_trained_model_that_keeps_its_tokens_makes_it_depend_on_training():
    finding = judge(ResidualIdentity, values(INITIAL) | values(TRAINED, alike=0.4, read=0.9))
    assert finding.verdict == DEPENDS
    assert dict(finding.by_setting) == {INITIAL: UPHELD, TRAINED: REFUTED}


def test_similarity_is_the_mean_cosine_of_two_positions():
    states = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]]).double()
    assert token_identity.similarity(states) == pytest.approx((0 + 2 * 0.5**0.5) / 3)
    assert token_identity.similarity(torch.ones(2, 5, 3).double()) == pytest.approx(1.0)


def test_the_probe_reads_tokens_that_are_there_and_no_others():
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 8, (60, 20), generator=generator)
    table = torch.randn(8, 16, generator=generator).double()
    # However small a part of the state it is: what all positions share does not matter.
    assert token_identity.read_back(1e-6 * table[tokens] + 1.0, tokens, 8) == 1.0
    noise = torch.randn(60, 20, 16, generator=generator).double()
    assert token_identity.read_back(noise, tokens, 8) < 0.2
    assert token_identity.read_back(torch.ones(60, 20, 16).double(), tokens, 8) < 0.2


def test_the_commonest_token_is_counted_where_the_probe_is_fitted():
    tokens = torch.tensor([[1, 1, 2], [1, 1, 3], [1, 2, 2]])
    assert token_identity.commonest_share(tokens) == pytest.approx(1 / 3)


def test_random_models_lose_their_tokens_only_without_residual_connections():
    found = residual_identity.check(torch.Generator().manual_seed(0))
    assert found[f"{INITIAL}/read/{WITHOUT}/0"] == found[f"{INITIAL}/read/{WITH}/0"] == 1.0, "embeddings"
    assert found[f"{INITIAL}/read/{WITHOUT}/12"] < 0.1 < found[f"{INITIAL}/read/{WITH}/12"]
    assert found[f"{INITIAL}/similarity/{WITHOUT}/12"] > 0.98


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    series = trials.try_claim("residual-identity", quick=True, device="cpu").trials[-1].measured.series
    assert set(series) == set(ResidualIdentity.quantities)
    assert all(0 <= value <= 1 for value in series[f"{TRAINED}/read/{WITH}/6"].values.values())
