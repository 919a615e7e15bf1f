"""The agreement of verbs: which places are found, and that n-gram models and trained models choose by probability."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from glasshouse.baselines.language_models import NGramModel
from glasshouse.claims.from_scratch import verb_agreement
from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.tokenizers.words import Words

TEXT = "the dog was here and the dogs were there and the cat is gone . " * 6


@pytest.fixture
def choices(tmp_path):
    tokenizer = Words.train([TEXT], 64)
    shard = shards.write(tmp_path, "test", iter([Document(TEXT)]), tokenizer)
    return tokenizer, verb_agreement.find_choices(shard, tokenizer, context=8, count=10)


def test_only_verbs_with_both_numbers_in_the_vocabulary_are_chosen(choices):
    tokenizer, found = choices
    assert found.before.shape == (10, 8)
    verbs, others = tokenizer.decode(found.verbs).split(), tokenizer.decode(found.others).split()
    assert set(zip(verbs, others, strict=True)) == {("was", "were"), ("were", "was")}  # "are" does not occur


def test_a_text_without_such_verbs_has_no_choices(tmp_path):
    tokenizer = Words.train(["nothing of the kind"], 64)
    shard = shards.write(tmp_path, "test", iter([Document("nothing of the kind " * 9)]), tokenizer)
    assert verb_agreement.find_choices(shard, tokenizer, context=4, count=10) is None


def test_an_ngram_model_agrees_only_with_what_it_sees(choices):
    tokenizer, found = choices
    tokens = tokenizer.encode(TEXT, specials=False).astype(np.int64)
    assert verb_agreement.choose_by_ngrams(NGramModel(tokens, tokenizer.vocabulary, 3), found) == [1.0] * 10
    blind = verb_agreement.choose_by_ngrams(NGramModel(tokens, tokenizer.vocabulary, 1), found)
    assert sum(blind) <= 5


def test_a_trained_model_chooses_by_its_logits(choices):
    tokenizer, found = choices
    favourite = int(found.verbs[0])

    def model(tokens):
        logits = torch.zeros(*tokens.shape, tokenizer.vocabulary)
        logits[:, -1, favourite] = 1.0
        return logits

    spec = SimpleNamespace(training=SimpleNamespace(precision="fp32"))
    run = SimpleNamespace(model=model, device=torch.device("cpu"), spec=spec)
    expected = (found.verbs == favourite).astype(float).tolist()
    assert verb_agreement.choose_by_run(run, found, batch=3) == expected
