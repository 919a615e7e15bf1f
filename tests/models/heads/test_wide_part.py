"""The wide part of a classifier: its n-grams, independence of padding and of the tokens that the bytes are in."""

import pytest
import torch

from glasshouse.models.heads.wide_part import WidePart
from tests.models.small_models import build, tokens

TOKENS = [b"", b"a", b"b", b"ab", b" ", b"c"]


def wide_part(max_tokens: int = 2, max_bytes: int = 3) -> WidePart:
    part = WidePart(len(TOKENS), classes=3, max_tokens=max_tokens, max_bytes=max_bytes, buckets=1009)
    part.set_token_bytes(TOKENS)
    generator = torch.Generator().manual_seed(0)
    part.weight_KC.normal_(generator=generator)
    part.idf_K.uniform_(0.5, 2.0, generator=generator)
    part.bias_C.normal_(generator=generator)
    return part


@pytest.mark.parametrize("max_bytes", [0, 3])
def test_padding_adds_nothing(max_bytes):
    part = wide_part(max_bytes=max_bytes)
    padded = torch.tensor([[1, 3, 5, 2], [4, 5, 3, 3]])
    together = part(padded, torch.tensor([4, 2]))
    torch.testing.assert_close(together[0], part(padded[:1])[0])
    torch.testing.assert_close(together[1], part(padded[1:, :2])[0])


def test_the_logits_are_the_sum_of_what_the_tokens_add():
    part, x, lengths = wide_part(), torch.tensor([[1, 3, 5, 2], [4, 5, 0, 0]]), torch.tensor([4, 2])
    of_tokens = part.token_logits(x, lengths)
    torch.testing.assert_close(of_tokens.sum(1) + part.bias_C, part(x, lengths))
    assert not of_tokens[1, 2:].any(), "padding adds nothing"


def test_byte_ngrams_do_not_depend_on_the_tokens_that_the_bytes_are_in():
    part = wide_part(max_tokens=1)
    as_pieces, as_one = (byte_ngrams(part, ids) for ids in ([1, 2, 5], [3, 5]))
    assert as_pieces.count_nonzero() > 5
    torch.testing.assert_close(as_pieces, as_one)


def totals(part: WidePart, ids, first: int, last: int | None = None):
    """The sum of the values of each bucket, of the features from `first` on."""
    buckets, values, _ = (tensor[0, first:last] for tensor in part.features(torch.tensor([ids])))
    return torch.zeros(2 * part.buckets).index_add(0, buckets, values)


def byte_ngrams(part: WidePart, ids):
    """Each token n-gram has a TF-IDF weight and a count. Those of bytes follow."""
    return totals(part, ids, 2 * part.max_tokens * len(ids))


def test_the_features_of_tokens_and_of_bytes_each_have_norm_1():
    ids = [1, 3, 5, 3, 1]
    part = wide_part()
    torch.testing.assert_close(totals(part, ids, 0, 10).norm(), torch.tensor(1.0))
    torch.testing.assert_close(byte_ngrams(part, ids).norm(), torch.tensor(1.0))


def test_a_repeated_ngram_has_one_plus_the_logarithm_of_its_count_as_weight():
    part = wide_part(max_tokens=1, max_bytes=0)
    part.idf_K.fill_(1.0)
    weights = totals(part, [1, 1, 1, 2], 0, 4)
    once, thrice = weights[weights > 0].sort().values
    torch.testing.assert_close(thrice / once, 1 + torch.tensor(3.0).log())
    counts = totals(part, [1, 1, 1, 2], 4)
    assert sorted(counts[counts > 0].tolist()) == [1.0, 3.0]


def test_byte_ngrams_do_not_reach_over_a_space():
    part = wide_part(max_bytes=3)
    apart, together = (byte_ngrams(part, ids).count_nonzero() for ids in ([1, 4, 2], [1, 5, 2]))
    # "a b ": a_, _b, b_, a_b is left out, _b_; and at the start of the text __a, _a_.
    assert apart < together


def test_tokens_that_differ_in_case_or_spaces_are_one():
    part = WidePart(4, classes=2, max_tokens=1, max_bytes=0, buckets=1009)
    part.set_token_bytes([b"Cat", b" cat", b"dog", b"<"])
    assert part.folded_V.tolist() == [0, 0, 2, 3]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_every_kind_of_model_adds_the_wide_part_in_evaluation_alone(kind):
    model = build(kind=kind, head={"kind": "classifier", "classes": 2, "wide": 2, "wide_buckets": 64})
    x = tokens(1, 5)
    before, in_training = model(x), model.train()(x)
    model.head.wide.bias_C.fill_(1.0)
    torch.testing.assert_close(model(x), in_training)
    torch.testing.assert_close(model.eval()(x), before + 1)
