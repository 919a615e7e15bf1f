"""Constraints on tokens: masks against their definition, the end, other vocabularies, no dead ends, and real sampling."""

import itertools
import json
import random
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.generation import json_schema, regular_language
from glasshouse.generation.byte_automaton import DEAD, ByteAutomaton
from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.token_constraint import ENDED, TokenConstraint
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.words import Characters, Words
from tests.refusals import refused

from .random_walks import random_text
from .small_models import CONTEXT, build_decoder, complete

PATTERNS = ["the state of our union", r"\d{3}-\d{4}", ".*", '[^"]{2,9}"', "(naïve|café) 🌱+", r"\w+( \w+)*", "[—🌱é]*"]


def constrain(pattern, tokenizer, **options):
    return TokenConstraint(regular_language.parse(pattern), tokenizer, **options)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mask_is_what_reading_each_token_gives(tokenizer, pattern):
    constraint = constrain(pattern, tokenizer)
    automaton = ByteAutomaton(regular_language.parse(pattern))
    generator = random.Random(0)
    for _ in range(3):
        state, text = constraint.start(), b""
        for _ in range(8):
            allowed = constraint.allowed(state)
            reached = automaton.walk(automaton.start, text)
            for token in range(tokenizer.vocabulary):
                if token == tokenizer.end_of_text:
                    assert bool(allowed[token]) == automaton.accepts(reached)
                else:
                    assert bool(allowed[token]) == (automaton.walk(reached, tokenizer.token_bytes(token)) != DEAD)
            assert allowed is constraint.allowed(state)
            token = generator.choice(allowed.nonzero()[:, 0].tolist())
            if token == tokenizer.end_of_text:
                break
            text += tokenizer.token_bytes(token)
            state = constraint.advance(state, token)


def test_the_end(tokenizer):
    constraint = constrain("ab?", tokenizer)
    first, second = (int(tokenizer.encode(letter)[0]) for letter in "ab")
    start = constraint.start()
    assert constraint.allowed(start).nonzero().tolist() == [[first]]
    after = constraint.advance(start, first)
    assert set(constraint.allowed(after).nonzero()[:, 0].tolist()) == {second, tokenizer.end_of_text}
    assert constraint.complete(after)
    assert not constraint.finished(after)
    last = constraint.advance(after, second)
    assert constraint.finished(last)
    for state in (last, constraint.advance(after, tokenizer.end_of_text)):
        assert constraint.allowed(state).nonzero()[:, 0].tolist() == [tokenizer.end_of_text]
    assert constraint.advance(last, tokenizer.end_of_text) == ENDED
    for state, token in ((start, second), (start, tokenizer.end_of_text), (last, first)):
        with refused(GlasshouseError, str(token)):
            constraint.advance(state, token)


def test_a_token_that_splits_a_character(tokenizer):
    constraint = constrain("🌱|🌲", tokenizer)
    whole = "🌱".encode()
    single = {tokenizer.token_bytes(token): token for token in range(256 + 1) if token != tokenizer.end_of_text}
    state = constraint.start()
    for byte in whole:
        state = constraint.advance(state, single[bytes([byte])])
    assert constraint.finished(state)


def test_other_end_tokens(tokenizer):
    """An imported model may end with a token that also writes text; then it writes none."""
    comma = int(tokenizer.encode(",")[0])
    constraint = constrain("a,?", tokenizer, end_tokens={comma})
    state = constraint.advance(constraint.start(), int(tokenizer.encode("a")[0]))
    assert constraint.allowed(state).nonzero()[:, 0].tolist() == [comma]
    assert constraint.finished(state)
    with refused(GlasshouseError):
        constrain("a,b", tokenizer, end_tokens={comma})


def test_characters_that_a_vocabulary_lacks():
    tokenizer = Characters.train(["abcé 0123"], 50)
    for seed in range(5):
        assert random_text(constrain("az|b[a-zé]{3}|.z", tokenizer), tokenizer, random.Random(seed))[0] == "b"
        assert re.fullmatch("[abcé0-3 ]{2,5}", random_text(constrain(".{2,5}", tokenizer), tokenizer, random.Random(seed)))
    with refused(GlasshouseError, "'{'", "'}'"):
        constrain(r"\{a*\}", tokenizer)
    with refused(GlasshouseError, "'['"):
        TokenConstraint(json_schema.parse({"type": "array"}), tokenizer)
    with refused(GlasshouseError):
        constrain(r"[^\x00-\U0010ffff]", tokenizer)


def test_whole_words_never_lead_to_a_dead_end():
    tokenizer = Words.train(["the wren and the owl sat on an oak"], 50)
    constraint = constrain("( the (wren|crow)| an? (oak|owls)| on the cr.*)( sat)?", tokenizer)
    texts = {random_text(constraint, tokenizer, random.Random(seed)) for seed in range(30)}
    assert texts == {" the wren", " the wren sat", " an oak", " an oak sat"}
    with refused(GlasshouseError):
        constrain("the wren", tokenizer)  # every word is written with a space before it


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.sampled_from(PATTERNS + ["(ab|cb*a){2,5}", "a*b{2,}c?"]))
@settings(max_examples=40)
def test_small_alphabets_never_lead_to_a_dead_end(letters, pattern):
    tokenizer = Characters.train(["".join(letters)], 20)
    short = ("".join(chosen) for length in range(5) for chosen in itertools.product(letters, repeat=length))
    if not any(re.fullmatch(pattern, text, re.ASCII) for text in short):
        with refused(GlasshouseError):
            constrain(pattern, tokenizer)
        return
    text = random_text(constrain(pattern, tokenizer), tokenizer, random.Random(0))
    assert re.fullmatch(pattern, text, re.ASCII)
    assert set(text) <= set(letters)


@pytest.mark.parametrize("temperature", [0.0, 1.0, 3.0])
def test_a_model_writes_only_matching_text(tokenizer, temperature):
    model = build_decoder(tokenizer.vocabulary + 3)
    constraint = constrain(r"(yes|no), \d{1,3}( café)?", tokenizer)
    sampling = Sampling(temperature=temperature, top_k=5, top_p=0.9, repetition_penalty=1.3)
    completions = complete(model, tokenizer, ["the", "", "My fellow"] * 4, sampling, 60, CONTEXT, constraint=constraint)
    for completion in completions:
        assert completion.finish == "end"
        assert re.fullmatch(r"(yes|no), \d{1,3}( café)?", completion.text)
        assert all(choice.probability > 0 for choice in completion.choices)


def test_a_model_writes_json(tokenizer):
    schema = {
        "properties": {"name": {"type": "string", "maxLength": 5}, "tags": {"items": {"enum": ["a", "é"]}, "maxItems": 2}}
    }
    constraint = TokenConstraint(json_schema.parse({**schema, "required": ["name", "tags"]}), tokenizer)
    model = build_decoder(tokenizer.vocabulary)
    for completion in complete(model, tokenizer, [""] * 6, Sampling(), 200, CONTEXT, constraint=constraint):
        assert completion.finish == "end"
        assert list(json.loads(completion.text)) == ["name", "tags"]


def test_probabilities_are_those_of_the_model(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    options = (Sampling(temperature=0), 1, CONTEXT)
    [free] = complete(model, tokenizer, ["the"], *options, alternatives=tokenizer.vocabulary)
    [forced] = complete(model, tokenizer, ["the"], *options, constraint=constrain("Z", tokenizer))
    token = int(tokenizer.encode("Z")[0])
    assert forced.choices[0].token == token != free.choices[0].token
    assert forced.choices[0].log_probability == pytest.approx(dict(free.choices[0].alternatives)[token])


def test_the_empty_text(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    [completion] = complete(model, tokenizer, ["the"], Sampling(), 5, CONTEXT, constraint=constrain("", tokenizer))
    assert (completion.text, completion.finish, completion.choices) == ("", "end", [])


def test_masks_are_dropped_when_they_take_too_much_memory(tokenizer, monkeypatch):
    monkeypatch.setattr("glasshouse.generation.token_constraint.CACHE_BYTES", 3 * tokenizer.vocabulary)
    constraint = constrain("a{50}", tokenizer)
    state, first = constraint.start(), constraint.allowed(constraint.start())
    letter = int(tokenizer.encode("a")[0])
    for _ in range(10):
        state = constraint.advance(state, letter)
        constraint.allowed(state)
    again = constraint.allowed(constraint.start())
    assert again is not first
    assert torch.equal(again, first)


def test_ids_that_are_not_in_use():
    plain = BytePair.train(["ab ab ab"], 258)
    plain._tokens.append(None)
    plain._has_unused_ids = True
    constraint = constrain("(ab)+", plain)
    assert not constraint.allowed(constraint.start())[plain.vocabulary - 1]
