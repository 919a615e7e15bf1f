"""N-gram embeddings: what they add, that order counts, and the bag of n-grams that an encoder without blocks is."""

import pytest
import torch

from glasshouse import models
from glasshouse.parts.ngram_embedding import NgramEmbedding
from glasshouse.specs.spec_files import model_spec
from tests.refusals import refused


def test_a_tokens_vector_is_its_own_and_those_of_the_ngrams_that_end_there():
    torch.manual_seed(0)
    part = NgramEmbedding(10, 4, max_ngram=3, buckets=1000)
    tokens = torch.tensor([[1, 2, 3], [5, 2, 3], [1, 2, 4]])
    found = part(tokens)
    assert not torch.equal(found[0, 2], found[1, 2]), "the trigram differs"
    torch.testing.assert_close(found[0, 1], found[2, 1])
    short = NgramEmbedding(10, 4, max_ngram=2, buckets=1000)
    found = short(tokens)
    torch.testing.assert_close(found[0, 2], found[1, 2])
    assert not torch.equal(found[0, 1], found[1, 1])


def test_order_counts_and_what_comes_later_does_not():
    part = NgramEmbedding(10, 4, max_ngram=2, buckets=1000)
    torch.testing.assert_close(part(torch.tensor([[1, 2, 3]]))[:, :2], part(torch.tensor([[1, 2, 9]]))[:, :2])
    one, other = (part(torch.tensor([pair])).sum(1) for pair in ([3, 7], [7, 3]))
    assert not torch.allclose(one, other)


def test_every_bucket_is_reached_and_large_numbers_do_not_leave_them():
    part = NgramEmbedding(100_000, 2, max_ngram=4, buckets=50)
    tokens = torch.randint(100_000, (20, 60), generator=torch.Generator().manual_seed(0))
    part(tokens).sum().backward()
    assert (part.runs.weight.grad != 0).all()


def test_an_encoder_without_blocks_is_a_bag():
    """The answer is linear in the counts of words and pairs."""
    shape = {"kind": "encoder", "layers": 0, "width": 6, "heads": 1, "position": "none", "norm": "none"}
    head = {"kind": "classifier", "classes": 3}
    model = models.build(model_spec(**shape, embedding="ngram", max_ngram=2, head=head), 20, 12).eval()
    tokens = torch.randint(20, (5, 8))
    vectors = model.embedding(tokens).mean(1)
    expected = torch.nn.functional.linear(vectors, model.head.answer.weight, model.head.answer.bias)
    torch.testing.assert_close(model(tokens), expected)
    padded = torch.cat([tokens, torch.zeros(5, 3, dtype=torch.int64)], 1)
    torch.testing.assert_close(model(padded, lengths=torch.full((5,), 8)), expected)


@pytest.mark.parametrize("kind", ["decoder", "recurrent", "encoder-decoder"])
def test_only_an_encoder_may_have_no_blocks(kind):
    with refused("no-layers", "model.layers=0", kind):
        models.check(model_spec(kind=kind, layers=0), 8)


@pytest.mark.parametrize("kind", ["decoder", "recurrent", "encoder-decoder"])
def test_a_model_that_generates_with_a_cache_refuses_ngrams(kind):
    with refused("lacks-capability", "model.embedding='ngram'"):
        models.check(model_spec(kind=kind, embedding="ngram"), 8)


def test_settings_of_ngrams_are_refused_without_them():
    with refused("undeclared-setting", "model.ngram_buckets=9", "model.embedding=ngram", "'token'"):
        model_spec(kind="encoder", ngram_buckets=9)
