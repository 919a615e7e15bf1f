"""Sentences about numbers: they are true, and they do not contain the held-out expressions of their own split."""

import re

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.arithmetic import expressions, number_in_words
from tests.data.sources.source_access import make_source, texts
from tests.needs import needs_data

# The pretraining text -> the data set whose held-out expressions it leaves out.
HELD_OUT_BY = {"arithmetic-text": "verbal-arithmetic", "course-arithmetic-text": "course-arithmetic"}
NAMES = ["arithmetic-text", pytest.param("course-arithmetic-text", marks=needs_data)]


@pytest.fixture
def made_up_files(tmp_path, monkeypatch):
    """Files of the course's form with another split: every fifth expression is a test expression."""
    (tmp_path / "verbal_arithmetic").mkdir()
    rows = list(enumerate(expressions()))
    for name, part in {"test": rows[::5], "train": [row for row in rows if row[0] % 5]}.items():
        lines = [",input,label", *(f"{index},{expression},2" for index, expression in part)]
        (tmp_path / "verbal_arithmetic" / f"PA03_data_20_{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path))


@pytest.mark.usefixtures("made_up_files")
def test_the_course_text_has_no_held_out_expression_of_the_files():
    check_held_out("course-arithmetic-text")


@pytest.mark.parametrize("name", NAMES)
def test_the_pretraining_text_has_no_held_out_expression(name):
    check_held_out(name)


def check_held_out(name):
    """The text contains every training expression of its data set, and no other."""
    held_out = {text for split in ("validation", "test") for text in texts(make_source(HELD_OUT_BY[name]), split)}
    assert len(held_out) == 352
    number = "|".join(number_in_words(n) for n in range(19, -1, -1))
    expression = re.compile(rf"(?=\b((?:{number}) (?:plus|minus) (?:{number}))\b)")
    subtraction = re.compile(rf"take ({number}) from ({number}) and (.+) is left")
    results, contained = expressions(), set()
    for split in SPLITS:
        for text in texts(make_source(name), split):
            # Punctuation is removed because a model may ignore it.
            plain = re.sub(r"[^a-z]+", " ", text)
            matches = set(expression.findall(plain))
            if match := subtraction.search(text):
                matches.add(f"{match[2]} minus {match[1]}")
            assert not matches & held_out, text
            contained |= matches
    assert contained == results.keys() - held_out


@needs_data
def test_the_two_texts_leave_out_other_expressions():
    ours, course = (make_source(name) for name in HELD_OUT_BY)
    assert ours.fingerprint() != course.fingerprint()
    assert course.fingerprint() == make_source("course-arithmetic-text").fingerprint()


@pytest.mark.parametrize("name", NAMES)
def test_sentences_about_numbers_are_true(name):
    values = {number_in_words(number): number for number in range(-38, 39)}
    results, checked = expressions(), 0
    for split in SPLITS:
        for text in texts(make_source(name), split):
            if match := re.fullmatch(r"(.+) is (more|less) than ([a-z -]+)\.", text):
                first, second = values[match[1]], values[match[3]]
                assert (first > second) == (match[2] == "more"), text
                checked += 1
            elif (match := re.fullmatch(r"(.+) (?:is|equals) ([a-z -]+)\.", text)) and match[1] in results:
                assert results[match[1]] == values[match[2]], text
                checked += 1
    assert checked > 2000
