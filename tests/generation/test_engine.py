"""The engine: with a cache and without, rows that join and leave, prefixes, seeds, probabilities, biases."""

import itertools

import pytest
import torch

from glasshouse.generation.engine import GenerationEngine
from glasshouse.generation.incremental_decoder import IncrementalDecoder, PrefixCache
from glasshouse.generation.recorded_steps import Row
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.specs import catalogue
from tests.generation.small_models import CONTEXT, build_decoder, complete, continue_greedily

SAMPLINGS = [
    {"temperature": 0.0},
    {"temperature": 0.9, "seed": 3},
    {"temperature": 1.2, "top_k": 5, "seed": 1},
    {"top_p": 0.8, "seed": 2},
    {"min_p": 0.1, "repetition_penalty": 1.3},
]


# Every position once and every way to draw once; all pairs are slow.
@pytest.mark.parametrize(
    ("options", "position"),
    [
        pytest.param(options, position, marks=() if options == SAMPLINGS[0] or position == "rotary" else pytest.mark.slow)
        for options, position in itertools.product(SAMPLINGS, catalogue.names("position"))
    ],
    ids=str,
)
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
        engine = GenerationEngine(model, CONTEXT)
        engine.add_all([encode_prompt(tokenizer, prompt)], Sampling(seed=4), [row])
        alone = [engine.step()[0][1].token for _ in range(30)]
        assert alone[: len(together[row].choices)] == [choice.token for choice in together[row].choices]


def test_the_same_seed_gives_the_same_text_and_another_seed_another_text(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    texts = [complete(model, tokenizer, ["the"], Sampling(seed=seed), 20, CONTEXT)[0].text for seed in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_probabilities_and_alternatives(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    [completion] = complete(model, tokenizer, ["the"], Sampling(temperature=0), 5, CONTEXT, alternatives=4)
    for choice in completion.choices:
        assert choice.alternatives[0] == (choice.token, pytest.approx(choice.log_probability))
        assert [p for _, p in choice.alternatives] == sorted((p for _, p in choice.alternatives), reverse=True)


@pytest.mark.parametrize("kind", ["decoder", "recurrent"])
@pytest.mark.parametrize("chunk", [None, 3])
def test_rows_that_join_and_leave_have_the_text_that_they_have_alone(tokenizer, kind, chunk):
    """Prompts are read in chunks of three tokens, beside rows that already generate."""
    settings = {"kind": "recurrent", "position": "none"} if kind == "recurrent" else {"position": "learned"}
    model = build_decoder(tokenizer.vocabulary, **settings)
    prompts = [encode_prompt(tokenizer, text) for text in ("the state of our union", "My", "strong and more", "x", "the")]
    options = [
        Sampling(temperature=0),
        Sampling(seed=2),
        Sampling(top_k=3, seed=5),
        Sampling(top_p=0.5),
        Sampling(min_p=0.1),
    ]
    alone = []
    for prompt, sampling in zip(prompts, options, strict=True):
        engine = GenerationEngine(model, CONTEXT, cached=False)
        [row] = engine.add_all([prompt], sampling, [7])
        for _ in range(12):
            engine.step()
        alone.append(row.generated)
    engine = GenerationEngine(model, CONTEXT, chunk=chunk)
    rows: list[Row] = []
    finished = []
    for step in range(40):
        if step % 3 == 0 and len(rows) < len(prompts):
            rows += engine.add_all([prompts[len(rows)]], options[len(rows)], [7])
        for row, _ in engine.step() if engine.rows else ():
            if len(row.generated) == 12:
                engine.remove(row)
                finished.append(row)
    assert len(finished) == len(prompts)
    assert [row.generated for row in rows] == alone


def test_a_removed_row_leaves_the_sources_of_the_others(tokenizer):
    model = build_decoder(tokenizer.vocabulary, kind="encoder-decoder", position="sinusoidal")
    sources = torch.randint(0, tokenizer.vocabulary, (3, 8), generator=torch.Generator().manual_seed(0))
    decoder = model.condition_on(sources, torch.tensor([8, 3, 5]))
    expected = continue_greedily(decoder, [[1], [2], [3]], 12, CONTEXT)
    engine = GenerationEngine(decoder, CONTEXT)
    rows = engine.add_all([[1], [2], [3]], Sampling(temperature=0))
    for step in range(12):
        engine.step()
        if step == 3:
            engine.remove(rows[0])
    assert [rows[1].tokens, rows[2].tokens] == expected[1:]
    assert rows[0].tokens == expected[0][:5]


def test_prompts_that_begin_alike_are_read_once(tokenizer):
    model = build_decoder(tokenizer.vocabulary, context=64)
    long = encode_prompt(tokenizer, "the state of our union is strong and more than that")
    read = 0

    def count(module, inputs, output):
        nonlocal read
        read += inputs[0].numel()

    model.embedding.register_forward_hook(count)
    prefixes, texts, costs = PrefixCache(), [], []
    for prompt in (long + [1, 2], long + [3], long + [1, 2]):
        for used in (prefixes, None):
            engine = GenerationEngine(model, 64, prefixes=used)
            [row], read = engine.add_all([prompt], Sampling(temperature=0)), 0
            engine.step()
            costs.append(read)
            for _ in range(5):
                engine.step()
            texts.append(row.generated)
    assert texts[0::2] == texts[1::2]
    whole = len(long)
    assert costs == [whole + 2, whole + 2, 1, whole + 1, 1, whole + 2]
    assert prefixes.copied_tokens == whole + whole + 1


def test_the_prefix_cache_stays_within_its_bytes(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    prefixes = PrefixCache(most_bytes=3 * 16 * 16 * 2 * 2 * 4)  # three prompts of 16 tokens
    for first in range(6):
        engine = GenerationEngine(model, CONTEXT, prefixes=prefixes)
        engine.add_all([[first] * CONTEXT], Sampling())
        engine.step()
        assert prefixes.bytes <= prefixes.most_bytes
    assert prefixes.bytes == prefixes.most_bytes


def test_a_bias_is_in_the_reported_log_probability_unless_it_is_to_be_raw(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    prompt = encode_prompt(tokenizer, "the state")
    logits = IncrementalDecoder(model, [prompt], CONTEXT, cached=False).logits()[0]
    bias = {3: 4.0, 5: -100.0}
    biased = logits.clone()
    biased[3] += 4.0
    biased[5] -= 100.0
    for raw, expected in ((False, biased), (True, logits)):
        engine = GenerationEngine(model, CONTEXT, raw=raw)
        [row] = engine.add_all([prompt], Sampling(temperature=0), alternatives=tokenizer.vocabulary, bias=bias)
        engine.add_all([prompt], Sampling(temperature=0))
        (first, sampled), (_, plain) = engine.step()
        assert first is row
        assert sampled.token == int(biased.argmax())
        assert plain.token == int(logits.argmax())
        reported = torch.tensor([value for _, value in sorted(sampled.alternatives)])
        torch.testing.assert_close(reported, expected.log_softmax(-1), rtol=0, atol=1e-4)


@pytest.mark.parametrize("position", catalogue.names("position"))
def test_a_model_in_bfloat16_generates_almost_the_same(tokenizer, position):
    model = build_decoder(tokenizer.vocabulary, context=64, position=position, width=64)
    prompt = encode_prompt(tokenizer, "the state of our union is strong")
    values = []
    for dtype in (torch.float32, torch.bfloat16):
        decoder = IncrementalDecoder(model.to(dtype), [prompt * 4], 64)
        values.append(decoder.logits().float().log_softmax(-1))
    torch.testing.assert_close(values[1], values[0], atol=0.3, rtol=0.1)
