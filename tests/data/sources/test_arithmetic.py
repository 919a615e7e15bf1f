"""Verbal arithmetic, generated and as the files of the course have it."""

import csv
import re

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.arithmetic import CourseArithmetic, VerbalArithmetic, expressions, number_in_words
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.data.sources.source_access import data_folder, make_source, split_sizes, texts
from tests.needs import needs_data
from tests.refusals import refused


def test_verbal_arithmetic_has_every_expression_and_the_published_shares():
    source = VerbalArithmetic()
    assert split_sizes(source) == (448, 192, 160)
    labels = {d.text: d.fields["label"] for split in SPLITS for d in source.documents(split)}
    assert len(labels) == 800
    assert labels["seven minus nine"] == "negative"
    assert labels["seven minus seven"] == labels["zero plus zero"] == "zero"
    assert labels["zero plus nineteen"] == "positive"
    for split in SPLITS:
        assert {d.fields["label"] for d in source.documents(split)} == {"negative", "zero", "positive"}


@needs_data
def test_verbal_arithmetic_agrees_with_the_published_files():
    published: dict = {}
    for name in ("train", "test"):
        with open(data_folder() / "verbal_arithmetic" / f"PA03_data_20_{name}.csv", encoding="utf-8") as file:
            published |= {row["input"]: ("negative", "zero", "positive")[int(row["label"])] for row in csv.DictReader(file)}
    source = VerbalArithmetic()
    assert {d.text: d.fields["label"] for split in SPLITS for d in source.documents(split)} == published


def test_numbers_in_words():
    for number, words in {0: "zero", 13: "thirteen", 20: "twenty", 38: "thirty-eight", -7: "minus seven"}.items():
        assert number_in_words(number) == words


TRAINING = ",input,label\n" + "".join(f"{row},{row} plus one,2\n" for row in ("two", "ten", "six", "one", "nine", "zero"))


def write_files(folder, training, test):
    (folder / "verbal_arithmetic").mkdir(exist_ok=True)
    (folder / "verbal_arithmetic" / "PA03_data_20_train.csv").write_text(training, encoding="utf-8")
    (folder / "verbal_arithmetic" / "PA03_data_20_test.csv").write_text(test, encoding="utf-8")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_DATA", str(tmp_path))
    return tmp_path


def test_an_expression_of_the_test_file_is_never_trained_on(data):
    write_files(data, TRAINING, ",input,label\n0,two plus one,2\n1,one minus one,1\n2,one minus two,0\n")
    source = CourseArithmetic()
    assert split_sizes(source) == (3, 2, 3)
    assert {d.text: d.fields["label"] for d in source.documents("test")} == {
        "two plus one": "positive",
        "one minus one": "zero",
        "one minus two": "negative",
    }
    assert sum(source.expression_splits()[text] == "train" for text in texts(source, "train")) == 3


def test_damaged_files_are_refused(data):
    with refused(DataError, "course-arithmetic", "PA03_data_20_test.csv"):
        CourseArithmetic().expression_splits()
    write_files(data, TRAINING, "input\none plus one\n")
    with refused(DataError, "PA03_data_20_test.csv", "label"):
        CourseArithmetic().expression_splits()
    write_files(data, TRAINING, ",input,label\n0,one plus one,3\n")
    with refused(GlasshouseError, "PA03_data_20_test.csv", "line 2", "'3'"):
        CourseArithmetic().expression_splits()


@needs_data
def test_the_published_test_file_is_the_test_split():
    source = CourseArithmetic()
    assert split_sizes(source) == (448, 192, 160)
    with open(data_folder() / "verbal_arithmetic" / "PA03_data_20_test.csv", encoding="utf-8") as file:
        assert {row["input"] for row in csv.DictReader(file)} == set(texts(source, "test"))
    ours, generated = (
        {d.text: d.fields["label"] for split in SPLITS for d in source.documents(split)}
        for source in (CourseArithmetic(), VerbalArithmetic())
    )
    assert ours == generated


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
