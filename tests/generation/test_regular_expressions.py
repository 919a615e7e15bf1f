"""Regular expressions: a constraint accepts what Python's `re` matches, and refuses what it cannot express."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .random_walks import accepts, random_text

CHARACTERS = 'abc09_- .\n"é中🌱'
ATOMS = st.sampled_from(
    [*map(re.escape, "abc09_- .é中🌱"), ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\n", r"\x41", r"\u00e9", "[]a]"]
    + ["[a-c]", "[^a-c]", "[^é]", "[à-ÿ]", r"[\d_]", r"[^\w\s]", "[中-龥🌱]", "[a-]", '[^\\n"]']
)
COUNTS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "+?", "{1,2}?"])


def larger(patterns):
    group = st.sampled_from(["({})", "(?:{})", "(?P<name>{})"])
    return (
        st.lists(patterns, min_size=1, max_size=3).map("".join)
        | st.lists(patterns, min_size=1, max_size=3).map("|".join).map("(?:{})".format)
        | st.tuples(st.lists(patterns, max_size=2).map("|".join), COUNTS).map(lambda parts: f"({parts[0]}){parts[1]}")
        | st.tuples(group, patterns).map(lambda parts: parts[0].format(re.sub(r"\?P<\w+>", "", parts[1])))
    )


PATTERNS = st.recursive(
    st.tuples(ATOMS, COUNTS).map(lambda parts: parts[0] if parts[0].endswith("}") else "".join(parts)), larger, max_leaves=4
).map(lambda pattern: re.sub(r"\?P<\w+>", "", pattern, count=pattern.count("?P<") - 1) if "?P<" in pattern else pattern)


# Python's `re` takes exponential time on nested repetitions, so patterns and texts are short.
@given(PATTERNS, st.data())
@settings(max_examples=50)
def test_a_constraint_agrees_with_re(tokenizer, pattern, data):
    expected = re.compile(pattern, re.ASCII)
    member = data.draw(st.from_regex(expected, fullmatch=True)).encode("utf-8", "ignore").decode()[:10]
    others = data.draw(st.lists(st.text(CHARACTERS, max_size=8), max_size=5))
    for text in (member, member[:-1], member + "a", "", *others):
        assert accepts(tokenizer, text, regex=pattern) == bool(expected.fullmatch(text)), text


@given(PATTERNS, st.integers(0, 100))
@settings(max_examples=50)
def test_texts_of_allowed_tokens_match(tokenizer, pattern, seed):
    text = random_text(TokenConstraint(tokenizer, pattern), tokenizer, random.Random(seed), free_tokens=4)
    assert text is None or re.fullmatch(pattern, text, re.ASCII), text


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^a$", ["a"], ["", "aa"]),
        ("^a$|^b$", ["a", "b"], ["ab"]),
        ("", [""], ["a"]),
        (r"x\{a\}", ["x{a}"], ["xa"]),
        ("(?i)ab/", ["aB/"], ["a"]),
        (r"\p{L}+", ["éa"], ["1"]),
        ("[é-ü]", ["ö"], ["e", "ÿ"]),
        (r"\$\^\.", ["$^."], ["$^a"]),
        (r"[\]\\-]", ["]", "\\", "-"], ["["]),
        (".", ["中", "🌱", "\r"], ["\n", ""]),
        ("(a|b|)*c", ["c", "abbac"], ["ab"]),
    ],
)
def test_syntax(tokenizer, pattern, matching, others):
    assert all(accepts(tokenizer, text, regex=pattern) for text in matching)
    assert not any(accepts(tokenizer, text, regex=pattern) for text in others)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("a(?=b)", "look-ahead"),
        ("(?<!a)b", "look-behind"),
        (r"(a)\1", "backreferences"),
        (r"\bword", "Word"),
        ("*a", "repetition"),
        ("(a", "unclosed group"),
        ("a)", "unopened group"),
        ("[a", "unclosed character class"),
        ("[z-a]", "range"),
        ("a{3,2}", "range"),
        ("a{,3}", "decimal"),
        ("a$b", "End"),
        (r"\x4", "escape"),
        ("a\\", "backslash"),
        ("(" * 10_000 + ")" * 10_000, "nest"),
        ("a{99999999999}", "decimal"),
        ("a" * 20_001, "20,001"),
        ("\ud800", "surrogate"),
    ],
)
def test_patterns_that_are_refused(tokenizer, pattern, value):
    with refused(GlasshouseError, value):
        TokenConstraint(tokenizer, pattern)


def test_counted_repetitions_cost_what_is_walked(tokenizer):
    state = TokenConstraint(tokenizer, "((a{1000}b?){1000}c){50000}").start()
    for _ in range(1500):
        state.advance(int(tokenizer.encode("a")[0]))
    assert not state.finished


def test_a_pattern_that_is_too_complex_is_refused(tokenizer):
    with refused(GlasshouseError, "complex"):
        random_text(TokenConstraint(tokenizer, "(.{1,1000}){1,1000}"), tokenizer, random.Random(0), 100)
