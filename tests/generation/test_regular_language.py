"""Regular expressions: the automaton accepts what Python's `re` matches, and refuses what it cannot express."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.generation import byte_automaton, regular_language
from glasshouse.generation.byte_automaton import DEAD, ByteAutomaton
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .random_walks import random_text

CHARACTERS = 'abc09_- .\n"é中🌱'
ATOMS = st.sampled_from(
    [*map(re.escape, "abc09_- .é中🌱"), ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\n", r"\x41", r"\u00e9", "[]a]"]
    + ["[a-c]", "[^a-c]", "[^é]", "[à-ÿ]", r"[\d_]", r"[^\w\s]", "[中-龥🌱]", "[a-]", "{", "}", "a{,2}", '[^\\n"]']
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


def accepts(pattern, text):
    automaton = ByteAutomaton(regular_language.parse(pattern))
    return automaton.accepts(automaton.walk(automaton.start, text.encode()))


# Python's `re` takes exponential time on nested repetitions, so patterns and texts are short.
@given(PATTERNS, st.data())
@settings(max_examples=100)
def test_the_automaton_agrees_with_re(pattern, data):
    expected = re.compile(pattern, re.ASCII)
    automaton = ByteAutomaton(regular_language.parse(pattern))
    member = data.draw(st.from_regex(expected, fullmatch=True)).encode("utf-8", "ignore").decode()[:10]
    others = data.draw(st.lists(st.text(CHARACTERS, max_size=8), max_size=5))
    for text in (member, member[:-1], member + "a", "", *others):
        reached = automaton.walk(automaton.start, text.encode())
        assert automaton.accepts(reached) == bool(expected.fullmatch(text)), text
        # What is not dead can be completed: by the shortest text, byte by byte.
        left = automaton.shortest(reached)
        while reached != DEAD and not automaton.accepts(reached):
            after = [automaton.step(reached, byte) for byte in range(256)]
            reached = min(after, key=automaton.shortest)
            assert automaton.shortest(reached) == left - 1
            left -= 1


@given(PATTERNS, st.integers(0, 100))
@settings(max_examples=60)
def test_texts_of_allowed_tokens_match(tokenizer, pattern, seed):
    constraint = TokenConstraint(regular_language.parse(pattern), tokenizer)
    text = random_text(constraint, tokenizer, random.Random(seed), free_tokens=4)
    assert re.fullmatch(pattern, text, re.ASCII), text


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("^a$", ["a"], ["", "aa"]),
        ("^a$|^b$", ["a", "b"], ["ab"]),
        ("", [""], ["a"]),
        ("a{,3}", ["", "aaa"], ["aaaa"]),
        ("x{a}", ["x{a}"], ["xa"]),
        ('{"a": 1}', ['{"a": 1}'], ["{"]),
        ("[é-ü]", ["ö"], ["e", "ÿ"]),
        (r"\$\^\.", ["$^."], ["$^a"]),
        (r"[\]\\-]", ["]", "\\", "-"], ["["]),
        (".", ["中", "🌱", "\r"], ["\n", ""]),
        ("(a|b|)*c", ["c", "abbac"], ["ab"]),
    ],
)
def test_syntax(pattern, matching, others):
    assert all(accepts(pattern, text) for text in matching)
    assert not any(accepts(pattern, text) for text in others)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("a(?=b)", "look-ahead"),
        ("(?<!a)b", "look-behind"),
        (r"(a)\1", "back reference"),
        ("(?P<n>a)(?P=n)", "back reference"),
        ("(?i)a", "flag"),
        (r"\bword", r"\b"),
        (r"\p{L}", r"\p"),
        ("a*+", "possessive"),
        ("a**", "index 2"),
        ("*a", "nothing to repeat"),
        ("(a", "index 0"),
        ("a)", "index 1"),
        ("[a", "index 0"),
        ("[z-a]", "z-a"),
        (r"[\d-z]", "range"),
        ("a{3,2}", "repeat"),
        ("a{100001}", "100,000"),
        ("a$b", "$"),
        (r"\x4", r"\x"),
        ("a\\", "escape"),
        ("(" * 51 + ")" * 51, "50"),
        ("(" * 10_000 + ")" * 10_000, "50"),
        ("a{99999999999}", "100,000"),
        ("(?i:a)", "flag"),
        ("(a$)b", "$"),
        ("a" * 20_001, "20,001"),
        ("\ud800", "surrogate"),
    ],
)
def test_patterns_that_are_refused(pattern, value):
    with refused(GlasshouseError, value):
        regular_language.parse(pattern)


def test_counted_repetitions_cost_what_is_walked():
    automaton = ByteAutomaton(regular_language.parse("((a{1000}b?){1000}c){50000}"))
    assert automaton.walk(automaton.start, b"a" * 1500) != DEAD
    assert len(automaton.built) < 4096


def test_repetitions_of_what_may_be_empty_stay_small():
    automaton = ByteAutomaton(regular_language.parse("(a?b?){0,50000}c"))
    assert automaton.accepts(automaton.walk(automaton.start, b"abba" * 50 + b"c"))


def test_a_pattern_with_too_many_states_is_refused(monkeypatch):
    monkeypatch.setattr(byte_automaton, "MAX_STATES", 100)
    automaton = ByteAutomaton(regular_language.parse("[ab]*a[ab]{30}"))
    with refused(GlasshouseError, "100"):
        automaton.walk(automaton.start, bytes(random.Random(0).choices(b"ab", k=400)))


def test_a_pattern_with_too_many_ways_to_go_on_is_refused(monkeypatch):
    monkeypatch.setattr(byte_automaton, "MAX_CONTINUATIONS", 50)
    automaton = ByteAutomaton(regular_language.parse("(a|aa){9000,10000}"))
    with refused(GlasshouseError, "50"):
        automaton.walk(automaton.start, b"a" * 300)
