"""Speculative decoding: the large model's distribution by frequency, its greedy text, and the share of drafts kept."""

import itertools

import pytest
import torch

from glasshouse.generation.incremental_decoder import IncrementalDecoder
from glasshouse.generation.sampling import distribution
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.speculative_engine import SpeculativeEngine
from glasshouse.specs.errors import GlasshouseError
from tests.generation.small_models import CONTEXT, build_decoder, continue_greedily
from tests.refusals import refused

VOCABULARY = 5
TEXTS = 4000


def speculate(engine, prompts, sampling, tokens):
    rows = engine.add_all(prompts, sampling)
    while any(len(row.generated) < tokens for row in rows):
        engine.step()
    return [row.generated[:tokens] for row in rows]


@pytest.mark.parametrize(
    "options",
    [{"temperature": 0.7, "top_k": 3}, *(pytest.param(each, marks=pytest.mark.slow) for each in ({}, {"top_p": 0.8}))],
    ids=str,
)
def test_the_frequencies_are_those_of_the_large_model(options):
    """All texts of three tokens, against the product of the large model's probabilities."""
    model, draft = build_decoder(VOCABULARY, width=16), build_decoder(VOCABULARY, width=8, layers=1, heads=1)
    prompt, sampling = [1, 2], Sampling(seed=11, **options)
    engine = SpeculativeEngine(model, draft, CONTEXT, CONTEXT, ahead=2)
    texts = speculate(engine, [prompt] * TEXTS, sampling, 3)
    counts = torch.zeros(VOCABULARY**3)
    for text in texts:
        counts[text[0] * VOCABULARY**2 + text[1] * VOCABULARY + text[2]] += 1
    expected = torch.zeros(VOCABULARY**3)
    for index, text in enumerate(itertools.product(range(VOCABULARY), repeat=3)):
        probability = 1.0
        for length in range(3):
            logits = IncrementalDecoder(model, [prompt + list(text[:length])], CONTEXT, cached=False).logits()
            probability *= float(distribution(logits, sampling)[0, text[length]])
        expected[index] = probability
    assert float(expected.sum()) == pytest.approx(1, abs=1e-4)
    assert counts[expected == 0].sum() == 0
    likely = expected * TEXTS >= 5
    statistic = ((counts - expected * TEXTS) ** 2 / (expected * TEXTS))[likely].sum()
    # The 99.99 % point of a chi-square distribution is below its mean plus four standard deviations and eight.
    freedom = int(likely.sum()) - 1
    assert statistic < freedom + 4 * (2 * freedom) ** 0.5 + 8
    assert 0 < engine.kept < engine.drafted


def test_the_greedy_text_is_that_of_the_large_model_beyond_its_context():
    model, draft = build_decoder(VOCABULARY), build_decoder(VOCABULARY, layers=1, position="none")
    prompts = [[1, 2, 3], [4], [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]]
    expected = [
        tokens[len(prompt) :] for tokens, prompt in zip(continue_greedily(model, prompts, 40, CONTEXT), prompts, strict=True)
    ]
    for ahead in (1, 4):
        engine = SpeculativeEngine(model, draft, CONTEXT, CONTEXT // 2, ahead=ahead)
        assert speculate(engine, prompts, Sampling(temperature=0), 40) == expected


def test_a_model_keeps_all_of_its_own_drafts():
    model = build_decoder(VOCABULARY, context=64)
    engine = SpeculativeEngine(model, model, 64, 64, ahead=3)
    speculate(engine, [[1], [2]], Sampling(seed=1), 20)
    assert engine.kept == engine.drafted > 20


def test_penalties_are_refused():
    model = build_decoder(VOCABULARY)
    with refused(GlasshouseError, "penalties"):
        SpeculativeEngine(model, model, CONTEXT, CONTEXT).add_all([[1]], Sampling(frequency_penalty=1.0))
