"""Classifiers on the features of a frozen run: their scores on held-out rows, and which rows are refused."""

import json

import glasshouse
from glasshouse.inspection.feature_classifiers import train_and_evaluate
from glasshouse.inspection.labelled_texts import LabelledTexts
from tests.refusals import refused

from .labelled_rows import rows


def test_the_features_of_a_trained_encoder_separate_the_classes(classifier, labelled_file):
    features = glasshouse.features("tiny", str(labelled_file), device="cpu")
    assert features.width == 16
    assert features.rows == {"train": 120, "validation": 15, "test": 15}
    assert features.cut == 0
    assert [scores.classifier for scores in features.verdicts] == ["logistic regression", "linear SVM"]
    for scores in features.verdicts:
        assert scores.metrics["test"]["accuracy"] > 0.9 > scores.metrics["test"]["majority"]
        assert scores.metrics["validation"]["macro_f1"] > 0.8
        assert set(scores.metrics["test"]) >= {"recall.bird", "recall.fruit", "recall.tool"}
    few = glasshouse.features("tiny", str(labelled_file), limit=40, pooling="max", device="cpu")
    assert few.rows == {"train": 40, "validation": 15, "test": 15}
    with refused("unknown-word", "pooling='middle'"):
        glasshouse.features("tiny", str(labelled_file), pooling="middle", device="cpu")
    with refused("unknown-data", "'president'", "'presidents'"):
        glasshouse.features("tiny", "president", device="cpu")


def test_truncated_texts_are_counted_and_a_class_may_have_one_row(classifier, tmp_path):
    path = tmp_path / "odd.jsonl"
    labelled = [*rows(60), ("fruit", "apple " * 100)]
    path.write_text("".join(json.dumps({"kind": label, "words": text}) + "\n" for label, text in labelled))
    assert glasshouse.features("tiny", str(path), field="words", label="kind", device="cpu").cut == 1
    with refused("missing-column", "--label=NAME"):
        glasshouse.features("tiny", str(path), field="words", label="sort", device="cpu")
    splits = {"train": LabelledTexts(("a", "b", "c", "d e"), ("x", "x", "x", "y")), "test": LabelledTexts(("a",), ("x",))}
    assert train_and_evaluate(classifier, splits).rows == {"train": 4, "test": 1}
    with refused("one-class"):
        train_and_evaluate(classifier, {"train": LabelledTexts(("a",), ("x",)), "test": splits["test"]})
    with refused("unknown-label", "'z'"):
        train_and_evaluate(classifier, {**splits, "test": LabelledTexts(("a",), ("z",))})


def test_a_decoder_has_no_features(labelled_file, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("wren owl crow " * 400)
    sizes = {
        "data": {"files": [str(text)], "vocabulary": 264, "context": 16},
        "model": {"width": 8, "layers": 1, "heads": 1},
    }
    training = {"steps": 1, "threads": 1, "precision": "fp32"}
    glasshouse.train("language-model", name="lm", device="cpu", training=training, **sizes)
    with refused("no-text-vector"):
        glasshouse.features("lm", str(labelled_file), device="cpu")
