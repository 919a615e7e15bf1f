"""Sentences about numbers: they are true, and they do not contain the held-out expressions of verbal arithmetic."""

import re

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.arithmetic import VerbalArithmetic, expressions, number_in_words
from glasshouse.data.sources.arithmetic_text import ArithmeticText
from tests.data.sources.source_access import texts


def test_the_pretraining_text_has_no_held_out_expression():
    held_out = {text for split in ("validation", "test") for text in texts(VerbalArithmetic(), split)}
    number = "|".join(number_in_words(n) for n in range(19, -1, -1))
    expression = re.compile(rf"(?=\b((?:{number}) (?:plus|minus) (?:{number}))\b)")
    subtraction = re.compile(rf"take ({number}) from ({number}) and (.+) is left")
    results, contained = expressions(), set()
    for split in SPLITS:
        for text in texts(ArithmeticText(), split):
            # Punctuation is removed because a model may ignore it.
            plain = re.sub(r"[^a-z]+", " ", text)
            matches = set(expression.findall(plain))
            if match := subtraction.search(text):
                matches.add(f"{match[2]} minus {match[1]}")
            assert not matches & held_out, text
            contained |= matches
    assert contained == results.keys() - held_out


def test_sentences_about_numbers_are_true():
    values = {number_in_words(number): number for number in range(-38, 39)}
    results, checked = expressions(), 0
    for split in SPLITS:
        for text in texts(ArithmeticText(), split):
            if match := re.fullmatch(r"(.+) is (more|less) than ([a-z -]+)\.", text):
                first, second = values[match[1]], values[match[3]]
                assert (first > second) == (match[2] == "more"), text
                checked += 1
            elif (match := re.fullmatch(r"(.+) (?:is|equals) ([a-z -]+)\.", text)) and match[1] in results:
                assert results[match[1]] == values[match[2]], text
                checked += 1
    assert checked > 2000
