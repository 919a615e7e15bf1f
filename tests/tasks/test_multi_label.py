"""Multi-label classification: none, one or several classes for each text."""

import numpy as np
import pytest

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.inspection import held_out_texts
from glasshouse.specs.errors import DataError, SpecError
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values
from tests.tasks.json_rows import use_json_rows, write_rows

# The class of a word; every other word has none.
CLASSES = {"owl": "bird", "wren": "bird", "fig": "fruit", "plum": "fruit", "saw": "tool"}
SMALL = (
    "model.width=16",
    "model.layers=1",
    "model.dropout=0",
    "model.head.hidden=0",
    "model.head.pooling=max",
    "training.batch=8",
    "training.threads=1",
    "training.precision=fp32",
    "training.learning_rate=1e-2",
    "evaluation.every=50",
)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    use_json_rows(monkeypatch)
    generator = np.random.default_rng(0)
    texts = [generator.choice([*CLASSES, "the", "and", "of"], generator.integers(1, 6)) for _ in range(200)]
    content = [
        {"text": " ".join(words), "labels": "|".join(sorted({CLASSES[word] for word in words if word in CLASSES}))}
        for words in texts
    ]
    return write_rows(tmp_path / "rows.jsonl", content)


def train(rows, *changes, name=None):
    return glasshouse.train("multi-label-classifier", f"data.files={rows}", *SMALL, *changes, name=name, device="cpu")


def test_several_classes_are_learned(rows):
    run = train(rows, "training.epochs=5")
    test = run.facts["outcome"]["test"]
    assert test["micro_f1"] > 0.9
    assert test["exact"] > 0.7
    assert test["f1.bird"] > 0.8
    both, none = run.predict(["owl fig", "the and"])
    assert set(both["labels"]) == {"bird", "fruit"}
    assert none["labels"] == []
    assert none["probabilities"].keys() == {"bird", "fruit", "tool"}
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits
    check_item_values(run, {split: splits[split].documents for split in ("validation", "test")}, {"exact", "loss"})
    table = held_out_texts.collect(run, "labels").scores
    assert float(table.counts.total().f1[0]) == pytest.approx(test["micro_f1"])
    assert "Scores by class" in run.folder.report_file.read_text()


def test_a_batch_has_a_column_for_each_class(rows):
    data = glasshouse.runs.spec_of("multi-label-classifier", f"data.files={rows}", "data.tokenizer=words").data
    prepared = prepared_data.prepare(data, columns=("labels",))
    assert prepared.labels == ("bird", "fruit", "tool")
    shard, source = prepared.splits["train"], prepared_data.find_source(data, ("labels",))
    for index, document in enumerate(source.documents("train")):
        assert "|".join(prepared.labels[number] for number in shard.label_sets[index]) == document.fields["labels"]


@pytest.mark.usefixtures("always_together")
@pytest.mark.slow
def test_replicas_learn_as_single_runs_do(rows):
    changes = ("training.epochs=1", "training.replicas=2")
    _, second = glasshouse.runs.train_replicas("multi-label-classifier", f"data.files={rows}", *SMALL, *changes, name="r")
    alone = train(rows, "training.epochs=1", "training.seed=1", name="alone")
    assert len(second.facts["together"]) == 2
    assert second.facts["outcome"]["test"]["loss"] == pytest.approx(
        alone.facts["outcome"]["test"]["loss"], rel=1e-4, abs=1e-6
    )


def test_naive_bayes_and_a_single_class_are_refused(rows, tmp_path):
    with refused(SpecError):
        train(rows, "model.head.naive_bayes=1")
    with refused(SpecError):
        train(rows, "model.head.classes=7")
    single = write_rows(tmp_path / "single.jsonl", [{"text": f"text {number}", "labels": "a"} for number in range(20)])
    with refused(DataError):
        train(single)
