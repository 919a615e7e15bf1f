"""The claim encoder-as-lm: its small language, and that a model which differs is found."""

import math

import pytest
import torch

from glasshouse.claims.attention import catalogue_models, encoder_as_lm
from glasshouse.claims.attention.catalogue_models import VOCABULARY
from glasshouse.claims.attention.encoder_as_lm import EncoderAsLM
from glasshouse.models import Encoder
from glasshouse.parts.masks import Everything
from glasshouse.specs import catalogue
from tests.claims.judging import judge, outcome


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_entropy_is_that_of_the_language():
    tokens = encoder_as_lm.random_language(generator(), 4000, 12)
    pairs = torch.zeros(VOCABULARY, VOCABULARY)
    pairs.index_put_((tokens[:, :-1].flatten(), tokens[:, 1:].flatten()), torch.ones(4000 * 11), accumulate=True)
    shares = pairs / pairs.sum(1, keepdim=True)
    entropies = -(shares * shares.log()).sum(1)
    assert entropies.mean().item() == pytest.approx(encoder_as_lm.language_entropy(), abs=0.02)
    assert encoder_as_lm.language_entropy() < math.log(VOCABULARY)
    assert sorted(shares.argmax(1).tolist()) == list(range(VOCABULARY)), "each token has its own successor"


@pytest.mark.slow
def test_an_encoder_without_the_mask_is_found(monkeypatch):
    def features(self, tokens, lengths=None, segments=None):
        return self.hidden_states(tokens, Everything(), segments=segments)

    monkeypatch.setattr(catalogue_models, "draw_combinations", lambda *_: (("dot-product", "rotary"),))
    monkeypatch.setattr(Encoder, "features", features)
    values = EncoderAsLM().check(generator())
    assert min(values[key] for key in ("logits", "losses", "gradients", "training")) > 0
    finding = judge(EncoderAsLM, {key: {0: value, 1: value} for key, value in values.items()})
    assert finding.verdict == "refuted"
    assert outcome(finding, "PyTorch's encoder with a causal mask gives the logits of the decoder") == "upheld"


@pytest.mark.parametrize("seed", range(8))
def test_the_encoder_of_pytorch_gives_the_same_logits_and_notices_another_weight(seed, monkeypatch):
    assert encoder_as_lm._differing_from_torch(generator(seed)) == 0
    original = encoder_as_lm._torch_logits

    def with_another_weight(decoder, *arguments):
        decoder.blocks[0].attention.output.weight[0, 0] += 0.01
        changed = original(decoder, *arguments)
        decoder.blocks[0].attention.output.weight[0, 0] -= 0.01
        return changed

    monkeypatch.setattr(encoder_as_lm, "_torch_logits", with_another_weight)
    assert encoder_as_lm._differing_from_torch(generator(seed)) > 0


def test_all_parts_that_allow_a_causal_mask_are_tried():
    pairs = catalogue_models.combinations("decoder", True)
    assert {attention for attention, _ in pairs} == set(catalogue.names("attention")) - {"linformer", "none"}
    assert {position for _, position in pairs} == set(catalogue.names("position"))
    drawn = [catalogue_models.draw_combinations("decoder", True, generator(seed)) for seed in range(32)]
    assert {pair for some in drawn for pair in some} == set(pairs)
    assert max(map(len, drawn)) <= len(pairs) // 4 + 1
    assert ("linformer", "none") in catalogue_models.combinations("encoder", False)
    assert ("performer", "alibi") not in pairs, "it has no scores to add a bias to"
