"""Verbal arithmetic: all expressions with the right labels, and the published splits."""

import csv

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.arithmetic import VerbalArithmetic, number_in_words
from tests.data.sources.source_access import data_folder, split_sizes
from tests.needs import needs_data


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
