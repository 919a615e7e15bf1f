"""The encoder: with a causal mask, with segments, and without blocks."""

import torch

from glasshouse import models
from glasshouse.specs.spec_files import model_spec
from tests.models.small_models import build, tokens


def test_an_encoder_with_a_causal_mask_is_a_decoder():
    decoder = build(kind="decoder")
    encoder = build(kind="encoder", causal=True, head={"kind": "next-token"})
    encoder.load_state_dict(decoder.state_dict())
    assert torch.equal(encoder(tokens(2, 9)), decoder(tokens(2, 9)))


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
