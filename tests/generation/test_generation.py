"""Generation: filters as defined, cached equal to uncached token for token, stop strings, streams, rows by themselves."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glasshouse import models
from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling, distribution, draw
from glasshouse.generation.text_stream import Completion, encode_prompt, stream
from glasshouse.specs import catalogue
from glasshouse.specs.spec import ModelSpec
from glasshouse.tokenizers.byte_pair import BytePair
from tests.refusals import refused

TEXT = "My fellow Americans, the state of our union is strong — naïve café 🌱. " * 20
CONTEXT = 16


@pytest.fixture(scope="module")
def tokenizer():
    return BytePair.train([TEXT], 280)


def make(vocabulary, **words):
    return models.build(
        ModelSpec(**{"width": 16, "layers": 2, "heads": 2, "initialisation": 2.0, **words}), vocabulary, CONTEXT
    )


def complete(model, tokenizer, prompts, sampling, tokens, context, **how):
    completions = [Completion(prompt, encode_prompt(tokenizer, prompt)) for prompt in prompts]
    for _ in stream(model, tokenizer, completions, sampling, tokens, context, **how):
        pass
    return completions


HOW = [
    {"temperature": 0.0},
    {"temperature": 0.9, "seed": 3},
    {"temperature": 1.2, "top_k": 5, "seed": 1},
    {"top_p": 0.8, "seed": 2},
    {"min_p": 0.1, "repetition_penalty": 1.3},
]


@pytest.mark.parametrize("position", catalogue.names("position"))
@pytest.mark.parametrize("how", HOW, ids=str)
def test_cached_equals_uncached_token_for_token(tokenizer, position, how):
    """Prompts of unequal length, one longer than the context, far enough that every window restarts."""
    model = make(tokenizer.vocabulary, position=position)
    prompts = ["My", "My fellow Americans, the state of our union is strong and more than", "x", "the state"]
    ways = [
        complete(model, tokenizer, prompts, Sampling(**how), tokens=40, context=CONTEXT, cached=cached)
        for cached in (True, False)
    ]
    for one, two in zip(*ways, strict=True):
        assert [choice.token for choice in one.choices] == [choice.token for choice in two.choices]
        assert one.text == two.text


def test_a_row_does_not_depend_on_its_neighbours(tokenizer):
    model = make(tokenizer.vocabulary)
    prompts = ["My fellow", "the", "union is strong and the state of"]
    together = complete(model, tokenizer, prompts, Sampling(seed=4), 30, CONTEXT)
    for row, prompt in enumerate(prompts):
        rollout = Rollout(model, [encode_prompt(tokenizer, prompt)], Sampling(seed=4), CONTEXT, rows=[row])
        alone = [rollout.advance()[0].token for _ in range(30)]
        assert alone[: len(together[row].choices)] == [choice.token for choice in together[row].choices]


def test_the_same_seed_gives_the_same_text_and_another_another(tokenizer):
    model = make(tokenizer.vocabulary)
    texts = [complete(model, tokenizer, ["the"], Sampling(seed=seed), 20, CONTEXT)[0].text for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


@given(st.lists(st.floats(-8, 8), min_size=2, max_size=12), st.integers(1, 12), st.floats(0.05, 1), st.floats(0, 1))
def test_filters_keep_what_they_say(logits, top_k, top_p, min_p):
    values = torch.tensor([logits])
    plain = values.softmax(-1)[0]

    def kept(**how):
        return set(distribution(values, Sampling(**how))[0].nonzero()[:, 0].tolist())

    order = sorted(range(len(logits)), key=lambda i: -plain[i].item())
    by_k = kept(top_k=top_k)
    assert set(order[:top_k]) <= by_k or len(by_k) >= min(top_k, len(logits))
    by_p = kept(top_p=top_p)
    assert order[0] in by_p
    assert sum(plain[i].item() for i in by_p) >= top_p - 1e-4
    for dropped in set(order) - by_p:
        assert plain[dropped] <= min(plain[i] for i in by_p) + 1e-7
    by_min = kept(min_p=min_p)
    assert all(plain[i] >= min_p * plain.max() - 1e-6 for i in by_min)
    assert order[0] in by_min


def test_draws_follow_the_probabilities_and_never_take_a_dropped_token():
    probabilities = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0]).expand(20000, 6)
    drawn = draw(probabilities, Sampling(seed=9), np.arange(20000), step=0)
    shares = torch.bincount(drawn, minlength=6) / 20000
    torch.testing.assert_close(shares, probabilities[0], rtol=0, atol=0.015)
    assert shares[[0, 2, 5]].sum() == 0


def test_repetition_penalty_lowers_what_was_seen():
    logits, seen = torch.tensor([[2.0, -1.0, 0.5]]), torch.tensor([[True, True, False]])
    plain, penalised = (distribution(logits, Sampling(repetition_penalty=p), seen)[0] for p in (1.0, 1.5))
    ratio = penalised / plain
    assert ratio[0] < ratio[2]
    assert ratio[1] < ratio[2]


class Script:
    """A model that says a fixed text, whatever it is asked."""

    def __init__(self, tokenizer, text):
        self.ids = [int(token) for token in tokenizer.encode(text)]
        self.vocabulary = tokenizer.vocabulary

    def eval(self):
        return self

    def parameters(self):
        yield torch.zeros(())

    def features(self, tokens, positions, cache):
        return torch.stack([torch.arange(tokens.shape[1])] * len(tokens))[..., None]

    def project(self, features):
        place = int(features[0, 0])
        logits = torch.zeros(len(features), self.vocabulary)
        logits[:, self.ids[place % len(self.ids)]] = 100.0
        return logits


def say(tokenizer, text, stop=(), tokens=None):
    model = Script(tokenizer, text)
    completion = Completion("", [tokenizer.end_of_text])
    how = {"tokens": tokens or len(model.ids), "context": 10**6, "stop": stop, "cached": False}
    pieces = [p.text for p in stream(model, tokenizer, [completion], Sampling(temperature=0), **how)]
    return completion, pieces


def test_a_stream_gives_whole_characters(tokenizer):
    completion, pieces = say(tokenizer, "naïve 🌱 seedling")
    assert completion.text == "naïve 🌱 seedling" == "".join(pieces)
    assert all("\ufffd" not in piece for piece in pieces)


def test_stop_strings_end_before_themselves_even_across_tokens(tokenizer):
    text = "the state of the union"
    for start, length in itertools.product(range(1, 15), (1, 3, 6)):
        stop = text[start : start + length]
        completion, pieces = say(tokenizer, text, stop=[stop, "never said"])
        assert completion.finish == "stop"
        assert completion.text == text[: text.index(stop)] == "".join(pieces)


def test_a_held_back_tail_is_given_at_the_end(tokenizer):
    completion, _ = say(tokenizer, "the state of", stop=["of the people"])
    assert completion.text == "the state of"
    assert completion.finish == "length"


def test_the_mark_ends_a_text(tokenizer):
    completion, _ = say(tokenizer, "that is all.<|endoftext|>more", tokens=50)
    assert (completion.text, completion.finish) == ("that is all.", "end")


def test_probabilities_and_alternatives(tokenizer):
    model = make(tokenizer.vocabulary)
    [completion] = complete(model, tokenizer, ["the"], Sampling(temperature=0), 5, CONTEXT, alternatives=4)
    for choice in completion.choices:
        assert choice.alternatives[0] == (choice.token, pytest.approx(choice.probability))
        assert [p for _, p in choice.alternatives] == sorted((p for _, p in choice.alternatives), reverse=True)


@pytest.mark.parametrize(
    "how", [{"temperature": -1}, {"top_p": 0}, {"top_p": 1.1}, {"top_k": -1}, {"min_p": 2}, {"repetition_penalty": 0}]
)
def test_impossible_settings_are_refused(how):
    with refused("bad-option", f"{next(iter(how))}="):
        Sampling(**how)
