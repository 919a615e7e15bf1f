"""Calculations: right answers, and held-out wordings of calculations that are trained on in other words."""

import re

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.calculations import LARGEST, OPERATIONS, WORDINGS, Calculations, questions, result

FUNCTIONS = {"plus": int.__add__, "minus": int.__sub__, "times": int.__mul__, "divided by": int.__truediv__}


def test_every_document_has_the_right_answer():
    for document in Calculations().documents("test"):
        first, operation, second = re.search(r"(\d+) ([a-z ]+?) (\d+)", document.text).groups()
        answer = document.text.rpartition("Assistant: ")[2]
        assert abs(float(answer) - FUNCTIONS[operation](int(first), int(second))) <= 0.005
        assert ("." in answer) == (operation == "divided by")


def test_what_is_asked_is_trained_on_in_other_words():
    asked = {split: questions(split) for split in SPLITS}
    assert sum(map(len, asked.values())) == LARGEST**2 * len(OPERATIONS) * len(WORDINGS)
    trained = {calculation for _, calculation in asked["train"]}
    assert sum(calculation in trained for _, calculation in asked["test"]) >= 0.99 * len(asked["test"])
    assert result((7, "divided by", 2)) == 3.5
