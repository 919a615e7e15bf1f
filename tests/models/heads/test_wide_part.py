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
    as_pieces, as_one = (part.features(torch.tensor([ids])) for ids in ([1, 2, 5], [3, 5]))

    def byte_ngrams(features, token_ngrams):
        buckets, values, _ = (tensor[0, token_ngrams:] for tensor in features)
        return torch.zeros(part.buckets).index_add(0, buckets, values)

    assert byte_ngrams(as_pieces, 3).count_nonzero() > 5
    torch.testing.assert_close(byte_ngrams(as_pieces, 3), byte_ngrams(as_one, 2))


def test_the_features_of_tokens_and_of_bytes_each_have_norm_1():
    _, values, _ = wide_part().features(torch.tensor([[1, 3, 5]]))
    torch.testing.assert_close(values[0, :6].norm(), torch.tensor(1.0))
    torch.testing.assert_close(values[0, 6:].norm(), torch.tensor(1.0))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_every_kind_of_model_adds_the_wide_part_in_evaluation_alone(kind):
    model = build(kind=kind, head={"kind": "classifier", "classes": 2, "wide": 2, "wide_buckets": 64})
    x = tokens(1, 5)
    before, in_training = model(x), model.train()(x)
    model.head.wide.bias_C.fill_(1.0)
    torch.testing.assert_close(model(x), in_training)
    torch.testing.assert_close(model.eval()(x), before + 1)
