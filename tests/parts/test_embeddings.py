"""N-gram embeddings: which n-grams they add, the order of tokens, hash buckets, and which models allow them."""

import pytest
import torch

from glasshouse import models
from glasshouse.parts.embeddings import NgramEmbedding, ngram_hashes
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec_files import model_spec
from tests.refusals import refused


def test_a_tokens_vector_is_the_sum_of_its_own_and_those_of_the_ngrams_that_end_there():
    torch.manual_seed(0)
    part = NgramEmbedding(10, 4, max_ngram=3, ngram_buckets=1000)
    tokens = torch.tensor([[1, 2, 3], [5, 2, 3], [1, 2, 4]])
    embedded = part(tokens)
    assert not torch.equal(embedded[0, 2], embedded[1, 2]), "the trigram differs"
    torch.testing.assert_close(embedded[0, 1], embedded[2, 1])
    bigrams = NgramEmbedding(10, 4, max_ngram=2, ngram_buckets=1000)
    embedded = bigrams(tokens)
    torch.testing.assert_close(embedded[0, 2], embedded[1, 2])
    assert not torch.equal(embedded[0, 1], embedded[1, 1])


def test_the_order_matters_and_later_tokens_do_not():
    part = NgramEmbedding(10, 4, max_ngram=2, ngram_buckets=1000)
    torch.testing.assert_close(part(torch.tensor([[1, 2, 3]]))[:, :2], part(torch.tensor([[1, 2, 9]]))[:, :2])
    one, other = (part(torch.tensor([pair])).sum(1) for pair in ([3, 7], [7, 3]))
    assert not torch.allclose(one, other)


def test_every_bucket_is_used_and_large_token_ids_stay_in_range():
    part = NgramEmbedding(100_000, 2, max_ngram=4, ngram_buckets=50)
    tokens = torch.randint(100_000, (20, 60), generator=torch.Generator().manual_seed(0))
    part(tokens).sum().backward()
    assert (part.runs.weight.grad != 0).all()


@pytest.mark.parametrize("kind", ["decoder", "recurrent", "encoder-decoder"])
def test_a_model_that_generates_with_a_cache_refuses_ngrams(kind):
    with refused(SpecError, "model.embedding='ngram'"):
        models.check(model_spec(kind=kind, embedding="ngram"), 8)


def test_settings_of_ngrams_are_refused_without_them():
    with refused(SpecError, "model.ngram_buckets=9", "model.embedding=ngram", "'token'"):
        model_spec(kind="encoder", ngram_buckets=9)


def test_a_hash_depends_on_every_token_of_the_ngram():
    first = torch.tensor([[1, 2, 3, 4]])
    for place in range(4):
        other = first.clone()
        other[0, place] = 7
        assert list(ngram_hashes(first, 4))[3][0, 3] != list(ngram_hashes(other, 4))[3][0, 3]
