"""The next-token head: the soft limit of its logits, on every path that computes them."""

import copy

import torch

from glasshouse import models
from glasshouse.models.heads.next_token import NextTokenHead
from glasshouse.models.weight_formats import can_have_int8_weights, with_int8_weights
from glasshouse.parts.sizes import Sizes
from glasshouse.specs.spec_files import model_spec
from glasshouse.tasks import linear_cross_entropy

CAP = 2.0


def decoder(**head):
    return models.build(model_spec(width=16, layers=1, heads=2, initialisation=4.0, head=head), 29, 12).eval()


def test_capped_logits_are_the_tanh_of_the_logits():
    plain, capped = decoder(), decoder(softcap=CAP)
    tokens = torch.randint(0, 29, (2, 12))
    with torch.no_grad():
        logits = plain(tokens)
        assert logits.abs().max() > CAP
        torch.testing.assert_close(capped(tokens), CAP * torch.tanh(logits / CAP))
        torch.testing.assert_close(capped.project(capped.features(tokens)), capped(tokens))


def test_small_logits_are_almost_unchanged():
    head = NextTokenHead(Sizes(4, vocabulary=5), NextTokenHead.Settings(softcap=30.0))
    logits = 0.1 * torch.randn(3, 5)
    torch.testing.assert_close(head.capped(logits), logits, rtol=1e-3, atol=1e-5)


def test_weights_of_8_bits_keep_the_limit():
    model = decoder(softcap=CAP)
    assert can_have_int8_weights(model)
    with torch.inference_mode():
        rounded = with_int8_weights(copy.deepcopy(model))(torch.randint(0, 29, (2, 12)))
    assert rounded.abs().max() <= CAP


def test_kernels_that_store_no_logits_are_for_logits_without_a_limit(monkeypatch):
    monkeypatch.setattr(linear_cross_entropy, "_kernels_work", lambda width: True)
    device = torch.device("cuda")
    assert linear_cross_entropy.supports(decoder(), "bf16", device)
    assert not linear_cross_entropy.supports(decoder(softcap=CAP), "bf16", device)
