"""The encoder: with a causal mask, with segments, and without blocks.

Packed texts give the features and the gradients of padded ones, and only where that is so.
"""

import pytest
import torch

from glasshouse import cpu_kernels, models
from glasshouse.models import encoder
from glasshouse.models.encoder import Packing
from glasshouse.specs.spec_files import model_spec
from tests.models.small_models import build, tokens

VOCABULARY, CONTEXT, ROWS = 600, 24, 40
SPEC = {"kind": "encoder", "width": 32, "layers": 2, "heads": 2, "head": {"kind": "classifier", "classes": 3}}


def test_an_encoder_with_a_causal_mask_is_a_decoder():
    decoder = build(kind="decoder")
    causal = build(kind="encoder", causal=True, head={"kind": "next-token"})
    causal.load_state_dict(decoder.state_dict())
    assert torch.equal(causal(tokens(2, 9)), decoder(tokens(2, 9)))


def test_segments_are_added_and_default_to_the_first():
    model = build(kind="encoder", segments=2)
    x = tokens(2, 6)
    zeros = torch.zeros_like(x)
    assert torch.equal(model(x), model(x, segments=zeros))
    assert not torch.allclose(model(x), model(x, segments=zeros + 1))


def test_an_encoder_without_blocks_is_a_bag_of_ngrams():
    """The logits are linear in the mean of the token and bigram vectors."""
    shape = {"kind": "encoder", "layers": 0, "width": 6, "heads": 1, "position": "none", "norm": "none"}
    head = {"kind": "classifier", "classes": 3}
    model = models.build(model_spec(**shape, embedding="ngram", max_ngram=2, head=head), 20, 12).eval()
    x = torch.randint(20, (5, 8))
    vectors = model.embedding(x).mean(1)
    expected = torch.nn.functional.linear(vectors, model.head.answer.weight, model.head.answer.bias)
    torch.testing.assert_close(model(x), expected)
    padded = torch.cat([x, torch.zeros(5, 3, dtype=torch.int64)], 1)
    torch.testing.assert_close(model(padded, lengths=torch.full((5,), 8)), expected)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(VOCABULARY, (ROWS, CONTEXT), generator=generator)
    return tokens, torch.randint(1, CONTEXT + 1, (ROWS,), generator=generator)


def outputs_and_gradients(model, **inputs):
    model.zero_grad()
    output = model(**inputs)
    output.square().sum().backward()
    return [output.detach(), *(parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None)]


@pytest.mark.parametrize(
    "settings",
    [
        {"position": "learned", "norm": "layer"},
        {"position": "rotary", "norm": "rms", "segments": 2},
        {"position": "sinusoidal", "connection": "post-norm", "query_key_norm": True},
        {"head": {"kind": "classifier", "classes": 3, "pooling": "first"}},
    ],
)
def test_an_encoder_gives_the_same_from_packed_and_padded_texts(settings, monkeypatch):
    model = models.build(model_spec(**{**SPEC, **settings}), VOCABULARY, CONTEXT).train()
    tokens, lengths = batch()
    inputs = {"tokens_BT": tokens, "lengths": lengths}
    if "segments" in settings:
        inputs["segments"] = tokens % 2
    rows = []
    plain = Packing.padded

    def recorded(self, features):
        rows.append(features.shape)
        return plain(self, features)

    monkeypatch.setattr(Packing, "padded", recorded)
    packed = outputs_and_gradients(model, **inputs)
    assert rows == [(1, int(lengths.sum()), 32)], "the texts were packed"
    with cpu_kernels.switched_off():
        padded = outputs_and_gradients(model, **inputs)
    assert len(rows) == 1
    torch.testing.assert_close(packed, padded, rtol=1e-4, atol=2e-5)


def test_evaluation_does_not_pack(monkeypatch):
    model = models.build(model_spec(**SPEC), VOCABULARY, CONTEXT).eval()
    monkeypatch.setattr(Packing, "padded", None)
    tokens, lengths = batch()
    model(tokens, lengths)
    model.train()
    with torch.no_grad():
        model(tokens, lengths)
    model(tokens)


@pytest.mark.parametrize(
    "settings",
    [
        {"dropout": 0.1},
        {"norm": "batch"},
        {"position": "alibi"},
        {"attention": "additive"},
        {"embedding": "ngram", "max_ngram": 2},
        {"layers": 0},
    ],
)
def test_encoders_whose_parts_read_other_tokens_or_draw_random_numbers_do_not_pack(settings):
    assert encoder.packing_is_possible(models.build(model_spec(**SPEC), VOCABULARY, CONTEXT))
    assert not encoder.packing_is_possible(models.build(model_spec(**{**SPEC, **settings}), VOCABULARY, CONTEXT))


def test_few_tokens_and_long_texts_are_not_packed():
    embedding = torch.nn.Embedding(VOCABULARY, 32)
    tokens, lengths = batch()
    assert encoder.packing_is_faster(tokens, lengths, embedding)
    assert not encoder.packing_is_faster(tokens, lengths // 8, embedding)
    assert not encoder.packing_is_faster(tokens.repeat(1, 3), lengths, embedding)
