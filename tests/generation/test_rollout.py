"""Rollouts: with a cache and without, rows independent of each other, seeds, probabilities."""

import pytest

from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.specs import catalogue
from tests.generation.small_models import CONTEXT, build_decoder, complete

SAMPLINGS = [
    {"temperature": 0.0},
    {"temperature": 0.9, "seed": 3},
    {"temperature": 1.2, "top_k": 5, "seed": 1},
    {"top_p": 0.8, "seed": 2},
    {"min_p": 0.1, "repetition_penalty": 1.3},
]


@pytest.mark.parametrize("position", catalogue.names("position"))
@pytest.mark.parametrize("options", SAMPLINGS, ids=str)
def test_cached_equals_uncached_token_for_token(tokenizer, position, options):
    """Prompts have different lengths, one above the context, and each window restarts at least once."""
    model = build_decoder(tokenizer.vocabulary, position=position)
    prompts = ["My", "My fellow Americans, the state of our union is strong and more than", "x", "the state"]
    cached, uncached = (
        complete(model, tokenizer, prompts, Sampling(**options), tokens=40, context=CONTEXT, cached=cached)
        for cached in (True, False)
    )
    for one, two in zip(cached, uncached, strict=True):
        assert [choice.token for choice in one.choices] == [choice.token for choice in two.choices]
        assert one.text == two.text


def test_a_row_does_not_depend_on_its_neighbours(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    prompts = ["My fellow", "the", "union is strong and the state of"]
    together = complete(model, tokenizer, prompts, Sampling(seed=4), 30, CONTEXT)
    for row, prompt in enumerate(prompts):
        rollout = Rollout(model, [encode_prompt(tokenizer, prompt)], Sampling(seed=4), CONTEXT, rows=[row])
        alone = [rollout.advance()[0].token for _ in range(30)]
        assert alone[: len(together[row].choices)] == [choice.token for choice in together[row].choices]


def test_the_same_seed_gives_the_same_text_and_another_seed_another_text(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    texts = [complete(model, tokenizer, ["the"], Sampling(seed=seed), 20, CONTEXT)[0].text for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_probabilities_and_alternatives(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    [completion] = complete(model, tokenizer, ["the"], Sampling(temperature=0), 5, CONTEXT, alternatives=4)
    for choice in completion.choices:
        assert choice.alternatives[0] == (choice.token, pytest.approx(choice.probability))
        assert [p for _, p in choice.alternatives] == sorted((p for _, p in choice.alternatives), reverse=True)
