"""Features on trial: what a frozen run's vectors tell, on rows it did not learn from, and a classifier's own mistakes."""

import json

import numpy as np
import pytest

import glasshouse
from glasshouse.inspection import confusion, labelled_texts
from glasshouse.inspection.labelled_texts import Labelled
from glasshouse.pages.report_page import render
from tests.refusals import refused

WORDS = {"fruit": ["apple", "pear", "plum"], "tool": ["saw", "drill", "rasp"], "bird": ["wren", "owl", "crow"]}
TINY = {
    "model": {"width": 16, "layers": 1, "heads": 2, "dropout": 0.0, "head": {"hidden": 8}},
    "training": {"epochs": 4, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 3e-3},
    "evaluation": {"every": 20},
}


def rows(count=150, seed=0):
    chance = np.random.default_rng(seed)
    names = list(WORDS)
    labels = [names[chance.integers(3)] for _ in range(count)]
    return [(label, f"{' '.join(chance.choice(WORDS[label], 3))} {number}") for number, label in enumerate(labels)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows()))
    return path


@pytest.fixture
def run(file):
    return glasshouse.train("classifier", name="tiny", device="cpu", data={"files": [str(file)]}, **TINY)


def test_a_trained_encoder_has_features_that_tell(run, file):
    found = glasshouse.features("tiny", str(file), device="cpu")
    assert found.width == 16
    assert found.rows == {"train": 120, "validation": 15, "test": 15}
    assert found.cut == 0
    assert [verdict.classifier for verdict in found.verdicts] == ["logistic regression", "linear SVM"]
    for verdict in found.verdicts:
        assert verdict.metrics["test"]["accuracy"] > 0.9 > verdict.metrics["test"]["majority"]
        assert verdict.metrics["validation"]["macro_f1"] > 0.8
        assert set(verdict.metrics["test"]) >= {"recall.bird", "recall.fruit", "recall.tool"}
    few = glasshouse.features("tiny", str(file), limit=40, pooling="max", device="cpu")
    assert few.rows == {"train": 40, "validation": 15, "test": 15}
    with refused("unknown-word", "pooling='middle'"):
        glasshouse.features("tiny", str(file), pooling="middle", device="cpu")
    with refused("unknown-data", "'president'", "'presidents'"):
        glasshouse.features("tiny", "president", device="cpu")


def test_texts_that_are_cut_are_counted_and_a_rare_class_is_taken(run, tmp_path):
    path = tmp_path / "odd.jsonl"
    found = [*rows(60), ("fruit", "apple " * 100)]
    path.write_text("".join(json.dumps({"kind": label, "words": text}) + "\n" for label, text in found))
    assert glasshouse.features("tiny", str(path), field="words", label="kind", device="cpu").cut == 1
    with refused("missing-column", "--label=NAME"):
        glasshouse.features("tiny", str(path), field="words", device="cpu")
    splits = {"train": Labelled(("a", "b", "c", "d e"), ("x", "x", "x", "y")), "test": Labelled(("a",), ("x",))}
    assert glasshouse.inspection.feature_classifiers.examine(run, splits).rows == {"train": 4, "test": 1}
    with refused("one-class"):
        glasshouse.inspection.feature_classifiers.examine(run, {"train": Labelled(("a",), ("x",)), "test": splits["test"]})
    with refused("unknown-label", "'z'"):
        glasshouse.inspection.feature_classifiers.examine(run, {**splits, "test": Labelled(("a",), ("z",))})


def test_a_sample_is_random_and_the_same_each_time():
    every = Labelled(tuple(map(str, range(50))), tuple("ab" * 25))
    some = every.sample(10)
    assert some == every.sample(10)
    assert some.texts != every.texts[:10]
    assert list(some.texts) == sorted(some.texts, key=int)
    assert every.sample(0) is every.sample(99) is every


def test_rows_are_held_out_as_training_holds_them_out(run, file):
    from glasshouse.data import prepared_data

    splits = labelled_texts.read(str(file))
    source = prepared_data.source_of(run.spec.data, ("label",))
    for split, found in splits.items():
        assert list(found.texts) == [document.text for document in source.documents(split)]
    assert len(labelled_texts.read("presidents")["train"]) > 3000


def test_a_classifier_report_says_what_it_takes_for_what(run, file, monkeypatch):
    found = confusion.look(run)
    assert found.confusion.labels == ("bird", "fruit", "tool")
    assert found.confusion.counts.sum() == 15
    accuracy = np.trace(found.confusion.counts) / 15
    assert accuracy == pytest.approx(run.facts["outcome"]["test"]["accuracy"])
    page = run.folder.report_file.read_text()
    assert "What it takes for what" in page
    assert "15 test texts" in page
    monkeypatch.setattr(confusion, "MOST_TEXTS", 7)
    assert confusion.look(run).confusion.where == "7 of 15 test texts"
    file.write_text(file.read_text() + "bird\towl\n")
    assert "has changed since" in confusion.look(run).notes[0]
    file.unlink()
    assert "cannot read" in confusion.look(run).notes[0]
    glasshouse.report("tiny", device="cpu")
    assert "there is no table of its mistakes" in run.folder.report_file.read_text()


def test_mistakes_are_the_surest_first(run, monkeypatch):
    from glasshouse.tasks.classify import Classify

    real = Classify.probabilities

    def turned(self, model, shard, examples, batch):
        """Every text is taken for the next class, more surely the later it comes."""
        truth = np.asarray(shard.labels[examples])
        shares = np.full((len(examples), 3), 0.1)
        shares[np.arange(len(examples)), (truth + 1) % 3] = 0.5 + np.arange(len(examples)) / 100
        assert real(self, model, shard, examples, batch).shape == shares.shape
        return shares

    monkeypatch.setattr(Classify, "probabilities", turned)
    found = confusion.look(run)
    assert [mistake.probability for mistake in found.mistakes] == pytest.approx([0.64, 0.63, 0.62, 0.61, 0.60])
    assert all(mistake.text.split()[0] in WORDS[mistake.truth] for mistake in found.mistakes)
    from glasshouse.inspection import run_report

    assert found.mistakes[0].text in render(run_report.gather(run))


def test_a_decoder_gives_no_features(file, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("wren owl crow " * 400)
    sizes = {
        "data": {"files": [str(text)], "vocabulary": 264, "context": 16},
        "model": {"width": 8, "layers": 1, "heads": 1},
    }
    training = {"steps": 1, "threads": 1, "precision": "fp32"}
    glasshouse.train("language-model", name="lm", device="cpu", training=training, **sizes)
    with refused("no-text-vector"):
        glasshouse.features("lm", str(file), device="cpu")
