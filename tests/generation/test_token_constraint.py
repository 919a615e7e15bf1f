"""Constraints on tokens: masks against their definition, the end, other vocabularies, and real sampling."""

import itertools
import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.generation.sampling_options import Sampling
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.byte_pair import BytePair
from glasshouse.tokenizers.words import Characters, Words
from tests.refusals import refused

from .random_walks import random_text
from .small_models import CONTEXT, build_decoder, complete

PATTERNS = ["the state of our union", r"\d{3}-\d{4}", ".*", '[^"]{2,9}"', "(naïve|café) 🌱+", r"\w+( \w+)*", "[—🌱é]*"]


def follow(constraint, tokens):
    """The state after some tokens."""
    state = constraint.start()
    for token in tokens:
        state.advance(token)
    return state


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mask_is_what_reading_each_token_gives(tokenizer, pattern):
    constraint = TokenConstraint(tokenizer, pattern)
    generator = random.Random(0)
    single = {tokenizer.token_bytes(token): token for token in range(256 + 1) if token != tokenizer.end_of_text}
    for _ in range(2):
        state, text = constraint.start(), b""
        for _ in range(4):
            for token in range(tokenizer.vocabulary):
                if token != tokenizer.end_of_text:
                    written = text + tokenizer.token_bytes(token)
                    try:
                        follow(constraint, [single[bytes([byte])] for byte in written])
                        reachable = True
                    except GlasshouseError:
                        reachable = False
                    assert bool(state.allowed[token]) == reachable
                elif state.allowed[token]:
                    assert re.fullmatch(pattern, text.decode(), re.ASCII)
            token = generator.choice(state.allowed.nonzero()[:, 0].tolist())
            if token == tokenizer.end_of_text:
                break
            text += tokenizer.token_bytes(token)
            state.advance(token)


def test_the_end(tokenizer):
    constraint = TokenConstraint(tokenizer, "ab?")
    first, second = (int(tokenizer.encode(letter)[0]) for letter in "ab")
    assert constraint.start().allowed.nonzero().tolist() == [[first]]
    after = follow(constraint, [first])
    assert set(after.allowed.nonzero()[:, 0].tolist()) == {second, tokenizer.end_of_text}
    assert not after.finished
    last = follow(constraint, [first, second])
    assert last.finished
    assert last.allowed.nonzero()[:, 0].tolist() == [tokenizer.end_of_text]
    assert follow(constraint, [first, tokenizer.end_of_text]).finished
    for tokens in ([second], [tokenizer.end_of_text], [first, second, first]):
        with refused(GlasshouseError, str(tokens[-1])):
            follow(constraint, tokens)


def test_a_token_that_splits_a_character(tokenizer):
    single = {tokenizer.token_bytes(token): token for token in range(256 + 1) if token != tokenizer.end_of_text}
    tokens = [single[bytes([byte])] for byte in "🌱".encode()]
    assert follow(TokenConstraint(tokenizer, "🌱|🌲"), tokens).finished


def test_other_end_tokens(tokenizer):
    """An imported model may end with a token that also writes text; then it writes none."""
    comma = int(tokenizer.encode(",")[0])
    state = follow(TokenConstraint(tokenizer, "a,?", end_tokens={comma}), [int(tokenizer.encode("a")[0])])
    assert state.allowed.nonzero()[:, 0].tolist() == [comma]
    assert state.finished
    with refused(GlasshouseError):
        follow(TokenConstraint(tokenizer, "a,b", end_tokens={comma}), [int(tokenizer.encode("a")[0])])


def test_the_words_of_any_vocabulary_size():
    """A model of words reaches what it cannot write in the middle of a text; this is an error, and no end."""
    tokenizer = Words.train([" ".join(f"word{number}" for number in range(600))], 700)
    state = follow(TokenConstraint(tokenizer, " word1( word2| other)"), [int(tokenizer.encode("word1")[0])])
    assert state.allowed.nonzero()[:, 0].tolist() == [int(tokenizer.encode("word2")[0])]
    with refused(GlasshouseError, "vocabulary"):
        follow(TokenConstraint(tokenizer, " word1 other"), [int(tokenizer.encode("word1")[0])])


def test_characters_that_a_vocabulary_lacks():
    tokenizer = Characters.train(["abcé 0123"], 50)
    for seed in range(5):
        assert random_text(TokenConstraint(tokenizer, "az|b[a-zé]{3}|.z"), tokenizer, random.Random(seed))[0] == "b"
        assert re.fullmatch(
            "[abcé0-3 ]{2,5}", random_text(TokenConstraint(tokenizer, ".{2,5}"), tokenizer, random.Random(seed))
        )
    with refused(GlasshouseError, "vocabulary"):
        TokenConstraint(tokenizer, r"\{a*\}")
    with refused(GlasshouseError, "vocabulary"):
        TokenConstraint(tokenizer, json_schema={"type": "array"})
    with refused(GlasshouseError):
        TokenConstraint(tokenizer, r"[^\x00-\U0010ffff]")


def test_whole_words_never_lead_to_a_dead_end():
    tokenizer = Words.train(["the wren and the owl sat on an oak"], 50)
    constraint = TokenConstraint(tokenizer, "( the (wren|crow)| an? (oak|owls)| on the cr.*)( sat)?")
    texts = {random_text(constraint, tokenizer, random.Random(seed)) for seed in range(30)}
    assert texts == {" the wren", " the wren sat", " an oak", " an oak sat"}
    with refused(GlasshouseError):
        TokenConstraint(tokenizer, "the wren")  # every word is written with a space before it


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), st.sampled_from(PATTERNS + ["(ab|cb*a){2,5}", "a*b{2,}c?"]))
@settings(max_examples=40)
def test_small_alphabets_never_lead_to_a_dead_end(letters, pattern):
    tokenizer = Characters.train(["".join(letters)], 20)
    short = ("".join(chosen) for length in range(5) for chosen in itertools.product(letters, repeat=length))
    if not any(re.fullmatch(pattern, text, re.ASCII) for text in short):
        with refused(GlasshouseError):
            TokenConstraint(tokenizer, pattern)
        return
    text = random_text(TokenConstraint(tokenizer, pattern), tokenizer, random.Random(0))
    assert re.fullmatch(pattern, text, re.ASCII)
    assert set(text) <= set(letters)


@pytest.mark.parametrize("temperature", [0.0, 1.0, 3.0])
def test_a_model_writes_only_matching_text(tokenizer, temperature):
    model = build_decoder(tokenizer.vocabulary + 3)
    constraint = TokenConstraint(tokenizer, r"(yes|no), \d{1,3}( café)?")
    sampling = Sampling(temperature=temperature, top_k=5, top_p=0.9, repetition_penalty=1.3)
    completions = complete(model, tokenizer, ["the", "", "My fellow"] * 4, sampling, 60, CONTEXT, constraint=constraint)
    for completion in completions:
        assert completion.finish == "end"
        assert re.fullmatch(r"(yes|no), \d{1,3}( café)?", completion.text)
        assert all(choice.probability > 0 for choice in completion.choices)


def test_a_model_writes_json(tokenizer):
    schema = {
        "properties": {
            "name": {"type": "string", "maxLength": 5},
            "tags": {"type": "array", "items": {"enum": ["a", "é"]}, "maxItems": 2},
        }
    }
    constraint = TokenConstraint(tokenizer, json_schema={**schema, "required": ["name", "tags"]})
    model = build_decoder(tokenizer.vocabulary)
    for completion in complete(model, tokenizer, [""] * 6, Sampling(), 200, CONTEXT, constraint=constraint):
        assert completion.finish == "end"
        assert list(json.loads(completion.text)) == ["name", "tags"]


def test_probabilities_are_those_of_the_model(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    options = (Sampling(temperature=0), 1, CONTEXT)
    [free] = complete(model, tokenizer, ["the"], *options, alternatives=tokenizer.vocabulary)
    [forced] = complete(model, tokenizer, ["the"], *options, constraint=TokenConstraint(tokenizer, "Z"))
    token = int(tokenizer.encode("Z")[0])
    assert forced.choices[0].token == token != free.choices[0].token
    assert forced.choices[0].log_probability == pytest.approx(dict(free.choices[0].alternatives)[token])


def test_the_empty_text(tokenizer):
    model = build_decoder(tokenizer.vocabulary)
    [completion] = complete(model, tokenizer, ["the"], Sampling(), 5, CONTEXT, constraint=TokenConstraint(tokenizer, ""))
    assert (completion.text, completion.finish, completion.choices) == ("", "end", [])


def test_ids_that_are_not_in_use():
    plain = BytePair.train(["ab ab ab"], 258)
    plain._tokens.append(None)
    plain._has_unused_ids = True
    constraint = TokenConstraint(plain, "(ab)+")
    assert not constraint.start().allowed[plain.vocabulary - 1]
