"""Contributions of words to a class or a number, by leaving them out."""

import json
import random
import shlex

import pytest

import glasshouse
from glasshouse.inspection import run_report, word_attribution
from glasshouse.pages.report_page import render
from glasshouse.results.report import Section


def test_a_contribution_is_the_fall_of_the_probability_without_the_word(classifier, labelled_file):
    report = run_report.collect(classifier)
    assert report.explained
    for text in report.explained:
        words = [word.text for word in text.words]
        (whole,) = classifier.classify([" ".join(words)])
        assert whole[text.answer] == max(whole.values()) == pytest.approx(text.probability)
        (without_first,) = classifier.classify([" ".join(words[1:])])
        assert text.words[0].contribution == pytest.approx(whole[text.answer] - without_first[text.answer], abs=1e-5)
    assert "What the words contribute" in render(report)
    assert shlex.split(report.commands[0])[-1] in labelled_file.read_text(), "a text of the user's own kind"
    # The attention map is of the longest of these texts.
    assert report.attention is not None
    assert len(report.attention.tokens) == max(len(text.words) for text in report.explained)
    # The right predictions come first, the most confident of them before the others.
    right = [text.probability or 0.0 for text in report.explained if text.truth == text.answer]
    assert right == sorted(right, reverse=True)
    assert len(right) <= word_attribution.OF_EACH_KIND
    labelled_file.unlink()
    assert word_attribution.collect(classifier) == Section()


def test_whitespace_stays_as_it_is():
    assert word_attribution.without_each_word("a  b\nc ") == ["b\nc ", "a  c ", "a  b "]
    assert word_attribution.without_each_word(" a") == [""]
    assert word_attribution.without_each_word("") == []


def test_the_untouched_text_is_explained(classifier, monkeypatch):
    """Two spaces or a line break can be other tokens than one space, so the text must not be changed."""
    asked, predict = [], type(classifier).predict

    def keep(run, texts, *others):
        asked.append(texts)
        return predict(run, texts, *others)

    monkeypatch.setattr(type(classifier), "predict", keep)
    explained = word_attribution.explain(classifier, word_attribution.TrueText("one  two\nthree", None, ("a",)))
    assert asked == [["one  two\nthree", "two\nthree", "one  three", "one  two"]]
    assert [word.text for word in explained.words] == ["one", "two", "three"]
    assert explained.text == "one  two\nthree"


SMALL = (
    "model.width=16",
    "model.layers=1",
    "model.heads=2",
    "model.feed_forward=32",
    "data.context=24",
    "training.batch=8",
    "training.epochs=2",
    "training.threads=1",
    "training.precision=fp32",
    "training.learning_rate=1e-2",
    "evaluation.every=50",
    "evaluation.baselines=false",
)
CLASSES = {"bird": ("owl", "wren"), "fruit": ("fig", "plum")}
WORDS = ("owl", "wren", "fig", "plum", "the", "and")


def train(tmp_path, recipe, **columns):
    """A small run on 80 texts of six words; `columns` are functions of the texts, by the name of the column."""
    generator = random.Random(0)
    texts = [" ".join(generator.choices(WORDS, k=6)) for _ in range(80)]
    rows = [
        {"text": text, **{name: column(text, place) for name, column in columns.items()}} for place, text in enumerate(texts)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    second = ["data.second=other"] if "other" in columns else []
    return glasshouse.train(recipe, f"data.files={file}", *SMALL, *second, name="run", device="cpu")


def check_first_words(run, explained, size):
    """The contribution of the first word of each text is what `size` of the prediction loses without it."""
    for text in explained:
        first, second = ([word.text for word in words] for words in (text.words, text.second))
        others = [[" ".join(second)]] if second else []
        (whole,) = run.predict([" ".join(first)], *others)
        (without,) = run.predict([" ".join(first[1:])], *others)
        assert text.words[0].contribution == pytest.approx(size(whole, text) - size(without, text), abs=1e-4)


def probability(prediction, text):
    return prediction["probabilities"][text.answer]


def test_words_of_a_text_with_several_classes(tmp_path):
    labels = lambda text, _: "|".join(name for name, words in CLASSES.items() if set(words) & set(text.split()))  # noqa: E731
    run = train(tmp_path, "multi-label-classifier", labels=labels)
    report = run_report.collect(run)
    assert report.explained
    check_first_words(run, report.explained, probability)
    for text in report.explained:
        assert text.right == (text.answer in text.truth.split(", "))
    assert "What the words contribute" in render(report)


def test_words_of_a_predicted_number(tmp_path):
    run = train(tmp_path, "regressor", value=lambda text, _: 10 * text.count("owl") - 3 * text.count("fig"))
    report = run_report.collect(run)
    assert len(report.explained) == 2 * word_attribution.OF_EACH_KIND
    check_first_words(run, report.explained, lambda prediction, text: prediction["value"])
    errors = [abs(float(text.answer) - float(text.truth)) for text in report.explained]
    assert max(errors[:2]) <= min(errors[2:]), "the best predictions come first"
    assert "raises the prediction" in render(report)


def test_words_of_both_texts_of_a_pair(tmp_path):
    run = train(tmp_path, "pair-classifier", other=lambda text, _: "wren fig", label=lambda text, _: str("owl" in text))
    report = run_report.collect(run)
    check_first_words(run, report.explained, probability)
    text = report.explained[0]
    assert [word.text for word in text.second] == ["wren", "fig"]
    first = " ".join(word.text for word in text.words)
    (whole,), (without,) = run.predict([first], ["wren fig"]), run.predict([first], ["fig"])
    assert text.second[0].contribution == pytest.approx(probability(whole, text) - probability(without, text), abs=1e-4)
    assert "separates the two texts" in render(report)


def test_texts_that_are_too_short_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(word_attribution, "FEWEST_WORDS", 30)
    run = train(tmp_path, "classifier", label=lambda text, _: str("owl" in text))
    report = run_report.collect(run)
    assert report.explained == ()
    assert any("no contributions of words" in note for note in report.notes)
