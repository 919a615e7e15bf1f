"""The claim causal: its verdict on made-up values, what a missing mask changes, the trainings, and a quick run."""

import math

import pytest
import torch

from glasshouse.claims import trials
from glasshouse.claims.attention import catalogue_models, causal, mask_training
from glasshouse.claims.attention.causal import LANGUAGES, RANDOM, TEXT, WITH, WITHOUT, CausalMask
from glasshouse.claims.attention.mask_training import CONTEXT, RANDOM_TOKENS, Training
from glasshouse.results.claim import REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome

CPU = torch.device("cpu")


def values(changed=0.0, gradient=0.0, text=1.1, random=1.08, masked=8.7):
    return {
        "changed": dict.fromkeys(range(8), changed),
        "gradient": dict.fromkeys(range(8), gradient),
        f"{TEXT}/{WITHOUT}": close_values(text),
        f"{RANDOM}/{WITHOUT}": close_values(random, shift=1),
        f"{TEXT}/{WITH}": close_values(masked, shift=2),
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"changed": 1.0}, REFUTED),
        ({"gradient": 1.0}, REFUTED),
        ({"text": 1.5}, REFUTED),
        ({"random": 16.0}, REFUTED),
        ({"masked": 1.05}, REFUTED),
    ],
)
def test_the_mask_must_hide_everything_and_its_absence_must_show(changes, verdict):
    assert judge(CausalMask, values(**changes)).verdict == verdict


def test_what_is_shown_beside_it_does_not_decide():
    beside = {
        "batch-norm": dict.fromkeys(range(8), 9.0),
        f"last/{WITH}": close_values(9.0),
        f"last/{WITHOUT}": close_values(24.0, shift=2),
    }
    finding = judge(CausalMask, {**values(), **beside})
    assert finding.verdict == UPHELD
    assert outcome(finding, "the mask suffices with batch norm in training, too") == REFUTED
    assert outcome(finding, "control: without the mask a changed token changes logits before it") == UNDECIDED
    name = "in use, where the next token is not in the input, the model without the mask is worse"
    assert outcome(finding, name) == UPHELD


def causal_model(**fields):
    spec = catalogue_models.model_spec("encoder", True, "dot-product", "learned", **fields)
    return catalogue_models.random_model(spec, torch.Generator().manual_seed(0))


def test_a_changed_token_reaches_earlier_logits_only_without_the_mask():
    model, tokens = causal_model(), torch.arange(10).view(1, 10)
    assert causal.changed_before(model, tokens, 4) == 0
    assert causal.gradients_from_later(model, tokens, 4) == 0
    model.causal = False
    assert causal.changed_before(model, tokens, 4) == 4 * catalogue_models.VOCABULARY
    assert causal.gradients_from_later(model, tokens, 4) > 0


def test_batch_norm_in_training_passes_the_mask():
    model, tokens = causal_model(norm="batch"), torch.arange(10).view(1, 10)
    assert causal.changed_before(model, tokens, 4) == 0
    assert causal.changed_before(model.train(), tokens, 4) > 0


def test_every_attention_and_position_is_checked_by_both_computations(monkeypatch):
    seen = []

    def unchanged(model, *_):
        seen.append(model)
        return 0.0

    monkeypatch.setattr(causal, "changed_before", unchanged)
    found = causal.check(torch.Generator().manual_seed(0))
    pairs = len(catalogue_models.combinations("decoder", True))
    assert found["unmasked"] == pairs
    assert len(seen) >= 3 * pairs


@pytest.mark.slow
def test_random_tokens_can_be_predicted_only_without_the_mask():
    language = mask_training.random_language()
    with_mask, without = (mask_training.train(language, masked, 0, 60, CPU) for masked in (True, False))
    assert with_mask.perplexity > RANDOM_TOKENS * 0.95
    assert without.perplexity < RANDOM_TOKENS / 2
    assert without.last > math.log(RANDOM_TOKENS) * 0.95, "the answer to the last prediction is not in the input"


def test_windows_of_text_are_pieces_of_it():
    text = torch.arange(100).numpy()
    windows = mask_training._windows_of(text)(20, torch.Generator().manual_seed(0))
    assert windows.shape == (20, CONTEXT + 1)
    assert (windows[:, 1:] - windows[:, :-1] == 1).all()


def test_a_curve_is_the_mean_loss_since_the_point_before():
    trainings = [Training((1.0, 2.0, 4.0), 0, 0), Training((3.0, 2.0, 2.0), 0, 0)]
    assert mask_training.mean_curve(trainings, every=2) == ((2.0, math.exp(2.0)), (3.0, math.exp(3.0)))
    assert trainings[0].perplexity == pytest.approx(math.exp(7 / 3))


@pytest.mark.slow
def test_a_quick_run_measures_everything(monkeypatch):
    monkeypatch.setattr(catalogue_models, "combinations", lambda *_: (("dot-product", "rotary"), ("performer", "none")))
    trial = trials.try_claim("causal", quick=True, device="cpu").trials[-1]
    measured = trial.measured
    assert set(measured.series) == set(CausalMask.quantities)
    assert set(measured.curves) == {f"perplexity/{language}, {way}" for language in LANGUAGES for way in (WITH, WITHOUT)}
