"""Baselines of fields: the strength is chosen on the validation split alone, limits hold, and failures say so."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import field_baselines
from glasshouse.baselines.baseline import BaselineData
from glasshouse.baselines.field_baselines import Examples, Method, Predict
from glasshouse.data.documents import Document
from glasshouse.metrics.metric import ACCURACY, LOSS


def examples(texts: Sequence[str], fields: Sequence[str]) -> Examples:
    return Examples(texts, fields, np.arange(len(texts)), len(texts))


def share_right(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    right = np.array([field == answer for field, answer in zip(truth, predictions, strict=True)], float)
    return {"accuracy": float(right.mean())}, {"accuracy": right}


def answers_strength(training: Examples) -> Callable[[float], Predict]:
    """Predicts its own strength for every text."""
    return lambda strength: lambda texts: [str(strength)] * len(texts)


@given(st.integers(1, 9).flatmap(lambda count: st.tuples(st.just(count), *[st.integers(0, count - 1)] * 2)))
def test_climbing_reaches_the_peak_of_a_function_with_one(places: tuple[int, int, int]) -> None:
    count, peak, first = places
    assert field_baselines.climb(lambda index: -abs(index - peak), count, first) == peak


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=40), st.integers(1, 50), st.integers(1, 200))
def test_a_sample_keeps_the_limits_and_the_order(texts: list[str], most_texts: int, most_characters: int) -> None:
    everything = examples(texts, [str(index) for index in range(len(texts))])
    sample = everything.spread(most_texts, most_characters)
    assert 1 <= len(sample.texts) <= most_texts
    assert sample.total == len(texts)
    assert list(sample.places) == sorted(set(sample.places.tolist()))
    assert [texts[place] for place in sample.places] == list(sample.texts)
    assert [str(place) for place in sample.places] == list(sample.fields)
    if len(texts) <= most_texts and sum(map(len, texts)) <= most_characters:
        assert sample is everything


def test_the_strength_is_the_best_on_validation_whatever_the_held_out_split_says() -> None:
    method = Method("echo", "echo", answers_strength, (1.0, 2.0, 3.0), 0)
    training, choice, held_out = examples(["t"], ["x"]), examples(["v"] * 2, ["2.0"] * 2), examples(["h"], ["3.0"])
    baseline = field_baselines.train(method, training, choice, held_out, share_right, (LOSS, ACCURACY))
    assert baseline.settings == {"C": 2.0}
    assert baseline.validation == {"accuracy": 1.0}
    assert baseline.metrics == {"accuracy": 0.0}


def test_the_held_out_split_is_scored_once() -> None:
    scored = []

    def score(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        scored.append(truth)
        return share_right(truth, predictions)

    method = Method("echo", "echo", answers_strength, (1.0, 2.0, 3.0), 1)
    held_out = examples(["h"], ["3.0"])
    field_baselines.train(method, examples(["t"], ["x"]), examples(["v"], ["2.0"]), held_out, score, (ACCURACY,))
    assert sum(truth is held_out.fields for truth in scored) == 1


def test_without_a_validation_split_the_default_strength_is_used() -> None:
    method = Method("echo", "echo", answers_strength, (1.0, 2.0, 3.0), 1)
    baseline = field_baselines.train(
        method, examples(["t"], ["x"]), None, examples(["h"], ["3.0"]), share_right, (ACCURACY,)
    )
    assert (baseline.settings, baseline.validation) == ({"C": 2.0}, {})


@pytest.mark.parametrize("error", [ValueError("empty vocabulary; perhaps\nmore"), ZeroDivisionError()])
def test_what_cannot_be_trained_says_so(error: Exception) -> None:
    def fail(training: Examples) -> Callable[[float], Predict]:
        raise error

    one = examples(["t"], ["x"])
    baseline = field_baselines.train(Method("fails", "fails", fail), one, one, one, share_right, (ACCURACY,))
    assert baseline.metrics == {}
    assert baseline.note == f"cannot be trained: {str(error).partition(chr(10))[0] or 'ZeroDivisionError'}"


def test_no_training_text_is_said() -> None:
    method = Method("fine", "fine", lambda training: lambda strength: list)
    baseline = field_baselines.train(method, examples([], []), None, examples(["a"], ["b"]), share_right, (ACCURACY,))
    assert (baseline.metrics, baseline.note) == ({}, "cannot be trained: there are no training texts")


def test_left_out_texts_are_said_and_the_scored_ones_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_baselines, "MOST_TRAINING_TEXTS", 4)
    monkeypatch.setattr(field_baselines, "MOST_HELD_OUT_TEXTS", 3)

    def documents(split: str) -> list[Document]:
        return [Document(f"text {index}", fields={"label": "0.0"}) for index in range(9)]

    family = field_baselines.of_field("label", [Method("echo", "echo", answers_strength)], share_right, ACCURACY).train
    [baseline] = family(BaselineData(None, documents, "test"))
    assert baseline.note == "trained on 4 of 9 texts, scored on 3 of 9 texts"
    assert baseline.places == [0, 4, 8]
    assert len(baseline.values["accuracy"]) == 3


def test_the_second_text_of_a_pair_is_read_too() -> None:
    pair = Document("a dog", fields={"label": "yes", "second": "an animal"})
    assert field_baselines.read([pair], "label").texts == ["a dog\nan animal"]
