"""Classifiers on the features of a frozen run: their scores on held-out rows, and which rows are refused."""

import json

import pytest
import torch

import glasshouse
from glasshouse.inspection.feature_classifiers import train_and_evaluate
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.sklearn import TextFeatures
from glasshouse.specs.errors import DataError, GlasshouseError
from tests.refusals import refused

from .labelled_rows import rows


def test_the_features_of_a_trained_encoder_separate_the_classes(classifier, labelled_file):
    features = glasshouse.runs.features("tiny", str(labelled_file), device="cpu")
    assert features.width == 16
    assert features.rows == {"train": 120, "validation": 15, "test": 15}
    assert features.cut == 0
    assert [scores.classifier for scores in features.verdicts] == [
        "logistic regression",
        "linear SVM",
        "TF-IDF, logistic regression",
    ]
    for scores in features.verdicts:
        assert scores.metrics["test"]["accuracy"] > 0.9 > scores.metrics["test"]["majority"]
        assert scores.metrics["validation"]["macro_f1"] > 0.8
        assert set(scores.metrics["test"]) >= {"recall.bird", "recall.fruit", "recall.tool"}
    few = glasshouse.runs.features("tiny", str(labelled_file), limit=40, pooling="max", device="cpu")
    assert few.rows == {"train": 40, "validation": 15, "test": 15}
    with refused(GlasshouseError, "pooling='middle'"):
        glasshouse.runs.features("tiny", str(labelled_file), pooling="middle", device="cpu")
    with refused(DataError, "'president'", "'presidents'"):
        glasshouse.runs.features("tiny", "president", device="cpu")


@pytest.mark.slow
def test_truncated_texts_are_counted_and_a_class_may_have_one_row(classifier, tmp_path):
    path = tmp_path / "odd.jsonl"
    labelled = [*rows(60), ("fruit", "apple " * 100)]
    path.write_text("".join(json.dumps({"kind": label, "words": text}) + "\n" for label, text in labelled))
    assert glasshouse.runs.features("tiny", str(path), field="words", label="kind", device="cpu").cut == 1
    with refused(DataError, "data.label=NAME"):
        glasshouse.runs.features("tiny", str(path), field="words", label="sort", device="cpu")
    splits = {"train": LabelledTexts(("a", "b", "c", "d e"), ("x", "x", "x", "y")), "test": LabelledTexts(("a",), ("x",))}
    assert train_and_evaluate(classifier, splits).rows == {"train": 4, "test": 1}
    with refused(DataError):
        train_and_evaluate(classifier, {"train": LabelledTexts(("a",), ("x",)), "test": splits["test"]})
    with refused(GlasshouseError, "'z'"):
        train_and_evaluate(classifier, {**splits, "test": LabelledTexts(("a",), ("z",))})


@pytest.mark.slow
def test_a_decoder_has_features(labelled_file, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("wren owl crow " * 400)
    sizes = {
        "data": {"files": [str(text)], "vocabulary": 264, "context": 16},
        "model": {"width": 8, "layers": 1, "heads": 1},
    }
    training = {"steps": 1, "threads": 1, "precision": "fp32"}
    glasshouse.train("language-model", name="lm", device="cpu", training=training, **sizes)
    features = glasshouse.runs.features("lm", str(labelled_file), device="cpu", limit=40)
    assert features.width == 8
    run = glasshouse.open_run("lm", device="cpu")
    texts = ["wren owl", "a", "crow wren owl crow owl wren"]
    alone = [run.model.features(torch.from_numpy(run.tokenizer.encode(text))[None])[0] for text in texts]
    for pooling, expected in (
        ("mean", [vectors.mean(0) for vectors in alone]),
        ("last", [vectors[-1] for vectors in alone]),
        (None, [vectors.mean(0) for vectors in alone]),
    ):
        assert torch.allclose(run.embed(texts, pooling), torch.stack(expected), atol=1e-5), "padding changes nothing"
    assert TextFeatures("lm").fit_transform(texts).shape == (3, 8)


def test_an_encoder_decoder_has_no_features(tmp_path):
    rows = tmp_path / "rows.tsv"
    rows.write_text("".join(f"word{index}\tother{index}\n" for index in range(40)))
    sizes = {"data": {"files": [str(rows)], "tokenizer": "characters", "context": 16}, "model": {"width": 8, "heads": 1}}
    glasshouse.train("translator", name="pairs", device="cpu", training={"steps": 1, "threads": 1}, **sizes)
    with refused(GlasshouseError, "encoder-decoder"):
        glasshouse.open_run("pairs", device="cpu").embed(["a"])
