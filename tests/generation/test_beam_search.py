"""Beam search: against exhaustive search, against greedy decoding, with a cache and without."""

import math
from itertools import product

import pytest
import torch

from glasshouse import models
from glasshouse.generation.beam_search import BeamOptions, search
from glasshouse.specs.errors import GlasshouseError
from glasshouse.specs.spec import ModelSpec
from tests.generation.small_models import continue_greedily
from tests.refusals import refused

VOCABULARY, END = 5, 0


def build_model(kind="decoder", seed=3):
    spec = ModelSpec(kind=kind, width=16, layers=2, heads=2, position="sinusoidal", initialisation=2.0)
    return models.build(spec, VOCABULARY, 12, seed).eval()


def log_probability(decoder, prompt, tokens):
    """The log-probability of tokens after a prompt, from one forward pass."""
    ids = torch.tensor([[*prompt, *tokens]])
    with torch.inference_mode():
        logs = decoder(ids)[0].log_softmax(-1)
    return sum(float(logs[len(prompt) - 1 + i, token]) for i, token in enumerate(tokens))


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_with_enough_beams_it_finds_the_best_of_all_sequences(penalty):
    decoder, prompt, max_length = build_model(), [2, 1], 4
    sequences = []
    for length in range(max_length + 1):
        for tokens in product(range(1, VOCABULARY), repeat=length):
            scored = [*tokens, END] if length < max_length else list(tokens)
            if scored:
                sequences.append((log_probability(decoder, prompt, scored) / len(scored) ** penalty, tokens))
    best = max(sequences)
    # There are as many beams as sequences of the maximum length, so no candidate is dropped.
    hypotheses = search(decoder, [prompt], BeamOptions(4**max_length, penalty, max_length), [END], 12)[0]
    assert hypotheses[0].tokens == best[1]
    assert hypotheses[0].score == pytest.approx(best[0], abs=1e-4)
    assert [each.score for each in hypotheses] == sorted((each.score for each in hypotheses), reverse=True)


def test_one_beam_is_greedy():
    decoder, prompts = build_model(seed=5), [[1], [2, 3, 4], [4, 4]]
    results = search(decoder, prompts, BeamOptions(1, 1.0, 8), [END], 12)
    texts = continue_greedily(decoder, prompts, 8, 12)
    for hypotheses, tokens, prompt in zip(results, texts, prompts, strict=True):
        greedy = tokens[len(prompt) :]
        expected = greedy[: greedy.index(END)] if END in greedy else greedy
        assert list(hypotheses[0].tokens) == expected
        assert hypotheses[0].ended == (END in greedy)


def test_scores_equal_those_of_one_forward_pass():
    decoder, prompts = build_model(), [[1], [2, 3, 4]]
    for prompt, hypotheses in zip(prompts, search(decoder, prompts, BeamOptions(3, 0.7, 6), [END], 12), strict=True):
        assert len({each.tokens for each in hypotheses}) == 3
        for each in hypotheses:
            scored = [*each.tokens, END] if each.ended else list(each.tokens)
            assert each.log_probability == pytest.approx(log_probability(decoder, prompt, scored), abs=1e-4)
            assert each.score == pytest.approx(each.log_probability / len(scored) ** 0.7)


def test_a_cache_and_a_batch_change_nothing():
    decoder, prompts = build_model(), [[1], [2, 3, 4], [3, 3]]
    cached = search(decoder, prompts, BeamOptions(3, 1.0, 7), [END], 12)
    uncached = search(decoder, prompts, BeamOptions(3, 1.0, 7), [END], 12, cached=False)
    alone = [search(decoder, [prompt], BeamOptions(3, 1.0, 7), [END], 12)[0] for prompt in prompts]
    for one, two, three in zip(cached, uncached, alone, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in two] == [each.tokens for each in three]


def test_beams_of_an_encoder_decoder_attend_to_their_own_source():
    model = build_model("encoder-decoder")
    source, lengths = torch.tensor([[1, 2, 3, 4], [4, 3, 0, 0], [2, 2, 2, 0]]), torch.tensor([4, 2, 3])
    together = search(model.condition_on(source, lengths), [[0], [0], [0]], BeamOptions(3, 1.0, 6), [END], 12)
    for row in range(3):
        decoder = model.condition_on(source[row : row + 1, : lengths[row]])
        alone = search(decoder, [[0]], BeamOptions(3, 1.0, 6), [END], 12)[0]
        assert [each.tokens for each in together[row]] == [each.tokens for each in alone]
        assert together[row][0].score == pytest.approx(alone[0].score, abs=1e-4)


@pytest.mark.parametrize(("beams", "penalty"), [(0, 1.0), (2, -1.0), (2, math.inf)])
def test_options_out_of_range_are_refused(beams, penalty):
    with refused(GlasshouseError):
        BeamOptions(beams, penalty)
