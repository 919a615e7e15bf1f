"""Beam search: against every sequence there is, against greedy choice, with a cache and without."""

import math
from itertools import product

import pytest
import torch

from glasshouse import models
from glasshouse.generation.beam_search import Beams, search
from glasshouse.generation.rollout import Rollout
from glasshouse.generation.sampling import Sampling
from glasshouse.specs.spec import ModelSpec
from tests.refusals import refused

VOCABULARY, END = 5, 0


def model(kind="decoder", seed=3):
    spec = ModelSpec(kind=kind, width=16, layers=2, heads=2, position="sinusoidal", initialisation=2.0)
    return models.build(spec, VOCABULARY, 12, seed).eval()


def log_probability(decoder, prompt, tokens):
    """Of these tokens after a prompt, one whole forward pass."""
    ids = torch.tensor([[*prompt, *tokens]])
    with torch.inference_mode():
        logs = decoder(ids)[0].log_softmax(-1)
    return sum(float(logs[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens))


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_with_beams_enough_it_finds_the_best_sequence_of_all(penalty):
    decoder, prompt, most = model(), [2, 1], 4
    every = []
    for length in range(most + 1):
        for tokens in product(range(1, VOCABULARY), repeat=length):
            ended = length < most
            asked = [*tokens, END] if ended else list(tokens)
            if asked:
                every.append((log_probability(decoder, prompt, asked) / len(asked) ** penalty, tokens))
    best = max(every)
    # As many beams as there are sequences of the longest kind: nothing is ever dropped.
    found = search(decoder, [prompt], Beams(4**most, penalty, most), [END], 12)[0]
    assert found[0].tokens == best[1]
    assert found[0].score == pytest.approx(best[0], abs=1e-4)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_one_beam_is_greedy():
    decoder, prompts = model(seed=5), [[1], [2, 3, 4], [4, 4]]
    found = search(decoder, prompts, Beams(1, 1.0, 8), [END], 12)
    rollout = Rollout(decoder, prompts, Sampling(temperature=0), 12)
    for _ in range(8):
        rollout.advance()
    for each, tokens, prompt in zip(found, rollout.tokens, prompts, strict=True):
        written = tokens[len(prompt) :]
        expected = written[: written.index(END)] if END in written else written
        assert list(each[0].tokens) == expected
        assert each[0].ended == (END in written)


def test_scores_are_those_of_a_whole_forward_pass():
    decoder, prompts = model(), [[1], [2, 3, 4]]
    for prompt, found in zip(prompts, search(decoder, prompts, Beams(3, 0.7, 6), [END], 12), strict=True):
        assert len({each.tokens for each in found}) == 3
        for each in found:
            asked = [*each.tokens, END] if each.ended else list(each.tokens)
            assert each.log_probability == pytest.approx(log_probability(decoder, prompt, asked), abs=1e-4)
            assert each.score == pytest.approx(each.log_probability / len(asked) ** 0.7)


def test_a_cache_and_a_batch_change_nothing():
    decoder, prompts = model(), [[1], [2, 3, 4], [3, 3]]
    together = search(decoder, prompts, Beams(3, 1.0, 7), [END], 12)
    plain = search(decoder, prompts, Beams(3, 1.0, 7), [END], 12, cached=False)
    alone = [search(decoder, [prompt], Beams(3, 1.0, 7), [END], 12)[0] for prompt in prompts]
    for one, two, three in zip(together, plain, alone, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in two] == [each.tokens for each in three]


def test_beams_of_an_encoder_decoder_look_at_their_own_source():
    whole = model("encoder-decoder")
    source, lengths = torch.tensor([[1, 2, 3, 4], [4, 3, 0, 0], [2, 2, 2, 0]]), torch.tensor([4, 2, 3])
    together = search(whole.given(source, lengths), [[0], [0], [0]], Beams(3, 1.0, 6), [END], 12)
    for row in range(3):
        given = whole.given(source[row : row + 1, : lengths[row]])
        alone = search(given, [[0]], Beams(3, 1.0, 6), [END], 12)[0]
        assert [each.tokens for each in together[row]] == [each.tokens for each in alone]
        assert together[row][0].score == pytest.approx(alone[0].score, abs=1e-4)


@pytest.mark.parametrize(("beams", "penalty"), [(0, 1.0), (2, -1.0), (2, math.inf)])
def test_beams_that_cannot_be(beams, penalty):
    with refused("bad-option"):
        Beams(beams, penalty)
