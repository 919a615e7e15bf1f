"""Classification: batches, metrics against scikit-learn's, own files and their faults, and runs that learn."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as theirs

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.data.user_files.labelled import UserLabelled
from glasshouse.metrics.classification import confusion, scores
from glasshouse.specs.spec import DataSpec, Spec
from glasshouse.tasks.classify import Classify
from tests.refusals import refused

WORDS = {"fruit": ["apple", "pear", "plum"], "tool": ["saw", "drill", "rasp"], "bird": ["wren", "owl", "crow"]}
TINY = {
    "model": {"width": 16, "layers": 1, "heads": 2, "dropout": 0.0, "head": {"hidden": 8}},
    "training": {"epochs": 6, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 3e-3},
    "evaluation": {"every": 20},
}


def rows(count=120, classes=3, seed=0):
    """Texts whose class is that of the words in them."""
    chance = np.random.default_rng(seed)
    names = list(WORDS)[:classes]
    found = []
    for _ in range(count):
        label = names[chance.integers(len(names))]
        found.append((label, " ".join(chance.choice(WORDS[label], chance.integers(1, 7)))))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows()))
    return path


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_the_metrics_are_those_of_scikit_learn(pairs):
    truth, answers = np.array(pairs).T
    found = scores(confusion(truth, answers, 4), ("a", "b", "c", "d"))
    there = sorted(set(truth.tolist()))
    assert found["accuracy"] == pytest.approx(theirs.accuracy_score(truth, answers))
    assert found["majority"] == pytest.approx(np.bincount(truth).max() / len(truth))
    expected = theirs.f1_score(truth, answers, labels=there, average="macro", zero_division=0)
    assert found["macro_f1"] == pytest.approx(expected)
    recall = theirs.recall_score(truth, answers, labels=there, average=None, zero_division=0)
    assert [found[f"recall.{'abcd'[each]}"] for each in there] == pytest.approx(recall.tolist())


def test_a_batch_holds_whole_texts_cut_and_padded(file):
    data = DataSpec(files=(str(file),), tokenizer="words", vocabulary=50, context=4)
    prepared = prepared_data.prepare(data, columns=("label",))
    task = Classify.from_spec(replace(Spec(), data=data))
    model = task.complete_model(Spec().model, prepared)
    assert model.head.own["classes"] == 3
    assert model.head.kind == "classifier"
    shard = prepared.splits["train"]
    batch = task.batch(shard, 0, np.zeros(8, int), np.arange(8))
    assert batch["tokens"].shape == (8, 4)
    for row, (tokens, length) in enumerate(zip(batch["tokens"], batch["lengths"], strict=True)):
        text = prepared.tokenizer.decode(tokens[:length].tolist()).split()
        label = prepared.labels[batch["labels"][row]]
        assert set(text) <= set(WORDS[label])
        assert torch.equal(tokens[length:], torch.zeros(4 - int(length), dtype=torch.int64))
    assert task.truncated(shard) == sum(len(shard.document(i)) > 4 for i in range(shard.documents)) > 0


@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_a_classifier_learns_from_a_file(file, kind):
    run = glasshouse.train("classifier", name=kind, device="cpu", data={"files": [str(file)]}, **_of_kind(kind))
    outcome = run.facts["outcome"]
    assert outcome["test"]["accuracy"] >= 0.85 > outcome["test"]["majority"]
    assert run.spec.model.head.own["classes"] == 3
    found = glasshouse.open_run(kind).classify(["wren owl", "saw"])
    assert [next(iter(each)) for each in found] == ["bird", "tool"]
    assert sum(found[0].values()) == pytest.approx(1.0)
    again = glasshouse.evaluate(kind, file)[str(file)]
    assert again["accuracy"] > 0.9
    assert "recall.bird" in again


def _of_kind(kind):
    tables = {section: dict(table) for section, table in TINY.items()}
    tables["model"]["kind"] = kind
    if kind == "recurrent":
        tables["model"].update(cell="gru", attention="none", bidirectional=True)
    return tables


def test_every_kind_of_file_gives_the_same_rows(tmp_path):
    found = rows(40)
    paths = [tmp_path / name for name in ("a.tsv", "b.csv", "c.jsonl")]
    paths[0].write_text("".join(f"{label}\t{text}\r\n" for label, text in found))
    paths[1].write_text("kind,words\n" + "".join(f'{label},"{text}"\n' for label, text in found))
    paths[2].write_text("".join(json.dumps({"kind": label, "words": text}) + "\n" for label, text in found))
    read = [
        [(d.fields["label"], d.text) for split in ("train", "validation", "test") for d in source.documents(split)]
        for source in (UserLabelled((str(path),), "words", "kind", 0.2, 0.2) for path in paths)
    ]
    assert read[0] == read[1] == read[2]
    assert sorted(read[0]) == sorted(found)


def test_a_text_is_in_one_split_and_what_is_odd_is_said(tmp_path):
    path = tmp_path / "odd.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows(60)) * 2 + "fruit\t\n\ttext\nfruit\tx\nbird\tx\n")
    source = UserLabelled((str(path),), "text", "label", 0.2, 0.2)
    homes = {}
    for split in ("train", "validation", "test"):
        for document in source.documents(split):
            assert homes.setdefault(document.text, split) == split
    notes = " ".join(source.notes())
    for words in ("2 of 124 rows", "repeat a text", "more than one label"):
        assert words in notes


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", "no tab here\n", ("no-tab",)),
        ("a.csv", "x,y\n1,2\n", ("missing-column", "data.field=NAME")),
        ("a.csv", "text,y\n1,2\n", ("missing-column", "data.label=NAME")),
        ("a.jsonl", '{"text": "a"}\n', ("missing-column", "data.label=NAME")),
        ("a.jsonl", "nonsense\n", ("not-json",)),
        ("a.txt", "fruit\tapple\n", ("not-a-table",)),
        ("a.tsv", "fruit\tapple\nfruit\tpear\nfruit\tplum\nfruit\tfig\n", ("one-class",)),
        ("a.tsv", "\t\n", ("no-rows",)),
        ("a.tsv", "fruit\tapple\ntool\tsaw\n", ("too-few-to-hold-out",)),
    ],
)
def test_faults_of_a_file_are_named(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_text(content)
    with refused(*words):
        glasshouse.train("classifier", name="x", device="cpu", data={"files": [str(path)]}, **TINY)


def test_what_cannot_be_is_refused(file):
    with refused("wrong-class-count", "model.head.classes=5"):
        glasshouse.train(
            "classifier", device="cpu", data={"files": [str(file)]}, model={**TINY["model"], "head": {"classes": 5}}
        )
    with refused("model-does-not-fit-task", "model.head.kind=classifier"):
        glasshouse.train("classifier", device="cpu", data={"files": [str(file)]}, model={"head": {"kind": "masked-token"}})
    with refused("source-lacks-column"):
        glasshouse.train("classifier", device="cpu", data={"source": "state-of-the-union"})


def test_a_language_model_does_not_classify(file):
    file.with_suffix(".txt").write_text("wren owl " * 500)
    sizes = {"data": {"files": [str(file.with_suffix(".txt"))], "vocabulary": 264, "context": 16}}
    small = {"model": {"width": 16, "layers": 1, "heads": 2}, "training": {"steps": 2, "threads": 1, "precision": "fp32"}}
    run = glasshouse.train("language-model", name="lm", device="cpu", **sizes, **small)
    with refused("not-a-classifier", "'next-token'", "'classify'"):
        run.classify(["wren"])


def test_paragraphs_are_held_out_by_address():
    from glasshouse.data.sources.presidents import Presidents

    source = Presidents()
    texts = {split: {d.text for d in source.documents(split)} for split in ("train", "validation", "test")}
    assert len(texts["train"]) > 3000
    shared = texts["train"] & (texts["validation"] | texts["test"])
    assert len(shared) < 20, "a few phrases are said every year"


@pytest.mark.skipif("GLASSHOUSE_DATA" not in os.environ, reason="GLASSHOUSE_DATA is not set")
def test_the_speeches_are_the_published_ones():
    from glasshouse.data.sources.speeches import Speeches

    source = Speeches()
    counts = {split: sum(1 for _ in source.documents(split)) for split in ("train", "validation", "test")}
    assert counts["train"] + counts["validation"] == 2092
    assert counts["test"] == 750
    prepared = prepared_data.prepare(DataSpec(source="speeches", tokenizer="words", vocabulary=8192), columns=("label",))
    assert any("test texts stand word for word in the training text" in note for note in prepared.notes)
