"""Verbal arithmetic, generated and as the files of the course have it."""

import csv

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.arithmetic import CourseArithmetic, VerbalArithmetic, number_in_words
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.data.sources.source_access import data_folder, split_sizes, texts
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
