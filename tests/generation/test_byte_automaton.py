"""The automaton: rules in any order, and trees of UTF-8 bytes that hold exactly the encodings of their characters."""

from hypothesis import given
from hypothesis import strategies as st

from glasshouse.generation.byte_automaton import DEAD, ByteAutomaton, utf8_branches
from glasshouse.generation.grammar import (
    ALL_CHARACTERS,
    Grammar,
    RuleReference,
    characters,
    choice,
    literal,
    repeat,
    sequence,
)

# Around the lengths of UTF-8, the surrogates and the ends.
EDGES = [0, 0x41, 0x7F, 0x80, 0xBF, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x10FFFF]
POINTS = st.sampled_from(EDGES) | st.integers(0, 0x10FFFF).filter(lambda point: not 0xD800 <= point <= 0xDFFF)


def holds(branches, text):
    """Whether a tree holds this encoding. No two branches of a node share a byte."""
    for depth, byte in enumerate(text):
        matching = [after for bits, after in branches if bits >> byte & 1]
        assert len(matching) <= 1
        if not matching:
            return False
        branches = matching[0]
        if not branches:
            return depth == len(text) - 1
    return False


@given(
    st.lists(st.tuples(POINTS, POINTS).map(lambda ends: (min(ends), max(ends))), max_size=4), st.lists(POINTS, max_size=20)
)
def test_a_tree_holds_the_characters_of_its_ranges(ranges, points):
    branches = utf8_branches(characters(ranges).ranges)
    for point in [*points, *EDGES, *(end for ends in ranges for end in ends)]:
        assert holds(branches, chr(point).encode()) == any(first <= point <= last for first, last in ranges)


def test_all_characters_are_valid_utf8_only():
    branches = utf8_branches(ALL_CHARACTERS)
    for wrong in (b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xe2\x82"):
        assert not holds(branches, wrong)
    assert len(branches) == 8


def test_a_rule_may_refer_to_an_earlier_one_and_to_itself():
    word = sequence(RuleReference("letters"), literal("c"))
    rules = {
        "letters": literal("ab"),
        "words": sequence(repeat(choice(word, sequence(literal("("), RuleReference("words"))), 2, 3), literal("d")),
        "endless": sequence(literal("e"), RuleReference("endless")),
    }
    automaton = ByteAutomaton(Grammar(choice(RuleReference("words"), RuleReference("endless")), rules))
    assert automaton.shortest(automaton.start) == len("abcabcd")
    for text, accepted in ((b"abcabcd", True), (b"abcabcabcabcd", False), (b"abc(abcabcdd", True), (b"abc(abcabcd", False)):
        assert automaton.accepts(automaton.walk(automaton.start, text)) == accepted
    assert automaton.walk(automaton.start, b"e") == DEAD
