"""Tagging: a tag for each word, predicted at its first token; entities if the tags mark them."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.inspection import held_out_texts
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.tasks.base import IGNORED
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values
from tests.tasks.json_rows import use_json_rows, write_rows

SMALL = (
    "data.vocabulary=270",
    "data.context=64",
    "model.width=16",
    "model.layers=1",
    "model.dropout=0",
    "training.batch=8",
    "training.threads=1",
    "training.precision=fp32",
    "training.learning_rate=1e-2",
    "evaluation.every=50",
)
NAMES = ("Ada Lovelace", "Alan Turing", "Grace Hopper")
PLACES = ("Lucerne", "New York")


@pytest.fixture
def sentences(tmp_path, monkeypatch):
    """Sentences about people in places, with IOB tags."""
    use_json_rows(monkeypatch)
    generator, content = np.random.default_rng(0), []
    for _ in range(160):
        name, place = generator.choice(NAMES), generator.choice(PLACES)
        parts = [(name, "PER"), (generator.choice(["lives in", "left"]), ""), (place, "LOC")]
        if generator.random() < 0.3:
            parts.append(("today", ""))
        content.append({"text": " ".join(text for text, _ in parts), "tags": " ".join(iob(*part) for part in parts)})
    return write_rows(tmp_path / "sentences.jsonl", content)


def iob(text, kind):
    return " ".join(f"{'I' if place else 'B'}-{kind}" if kind else "O" for place, _ in enumerate(text.split()))


def train(rows, *changes, name=None):
    return glasshouse.train("tagger", f"data.files={rows}", *SMALL, *changes, name=name, device="cpu")


def test_entities_are_learned(sentences):
    run = train(sentences, "training.epochs=6")
    test = run.facts["outcome"]["test"]
    assert test["entity_f1"] > 0.8
    assert test["accuracy"] > 0.8 > test["majority"]
    assert run.facts["outcome"]["validation"]["entity_f1"] == pytest.approx(best_validation(run))
    [found] = run.predict(["Grace Hopper left New York"])
    assert found["words"] == ["Grace", "Hopper", "left", "New", "York"]
    assert found["tags"] == ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"]
    assert all(0 < probability <= 1 for probability in found["probabilities"])
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits
    check_item_values(run, {split: splits[split].documents for split in ("validation", "test")}, {"accuracy", "loss"})
    scores = held_out_texts.collect(run, "tags")
    assert scores.scores.counts.names == ("LOC", "PER")
    assert float(scores.scores.counts.total().f1[0]) == pytest.approx(test["entity_f1"])
    assert "Scores by entity" in run.folder.report_file.read_text()
    assert glasshouse.evaluate(run.folder.path, sentences, device="cpu")[str(sentences)]["entity_f1"] > 0.8


def best_validation(run):
    return max(row["validation.entity_f1"] for row in run.metrics if "validation.entity_f1" in row)


def test_tags_that_mark_no_entities_are_scored_by_accuracy(tmp_path, monkeypatch):
    use_json_rows(monkeypatch)
    content = [{"text": f"item {number} costs {number % 7}", "tags": "NOUN NUM VERB NUM"} for number in range(60)]
    run = train(write_rows(tmp_path / "parts.jsonl", content), "training.epochs=2")
    assert "entity_f1" not in run.facts["outcome"]["test"]
    assert run.task.criterion == "accuracy"
    assert run.facts["outcome"]["test"]["f1.NUM"] > 0.5


@pytest.mark.parametrize("tokenizer", ["byte-pair", "words", "characters"])
def test_targets_stand_at_the_first_token_of_each_word(sentences, tokenizer):
    changes = (f"data.files={sentences}", *SMALL, f"data.tokenizer={tokenizer}")
    job = Job.prepare(glasshouse.runs.spec_of("tagger", *changes), torch.device("cpu"))
    shard, tokenizer = job.prepared.splits["train"], job.prepared.tokenizer
    source = list(prepared_data.find_source(job.spec.data, ("tags",)).documents("train"))
    batch = job.task.batch(shard, 0, np.zeros(8, int), np.arange(8))
    for document, tokens, targets in zip(source, batch["tokens"], batch["targets"], strict=False):
        tagged = (targets != IGNORED).nonzero()[:, 0].tolist()
        assert [job.task.labels[tag] for tag in targets[tagged]] == document.fields["tags"].split()
        for word, place in zip(document.text.split(), tagged, strict=True):
            assert word.startswith(tokenizer.token_bytes(int(tokens[place])).decode().strip())


def test_words_beyond_the_context_are_not_scored_and_have_no_tag(sentences):
    run = train(sentences, "data.context=6", "training.epochs=1")
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits
    assert run.task.truncated(splits["test"]) == splits["test"].documents
    assert run.facts["outcome"]["test"]["words"] < len(splits["test"].tags.values)
    [found] = run.predict(["Grace Hopper lives in Lucerne"])
    assert found["tags"][0] is not None
    assert found["tags"][-1] is None
    assert found["probabilities"][-1] is None
    assert "truncated to data.context" in run.folder.report_file.read_text()


@pytest.mark.usefixtures("always_together")
@pytest.mark.slow
def test_replicas_learn_as_single_runs_do(sentences):
    changes = ("training.epochs=1", "training.replicas=2")
    _, second = glasshouse.runs.train_replicas("tagger", f"data.files={sentences}", *SMALL, *changes, name="r", device="cpu")
    alone = train(sentences, "training.epochs=1", "training.seed=1", name="alone")
    assert len(second.facts["together"]) == 2
    assert second.facts["outcome"]["test"]["loss"] == pytest.approx(alone.facts["outcome"]["test"]["loss"], rel=1e-4)


def test_tags_that_do_not_fit_their_words_are_refused(tmp_path, monkeypatch):
    use_json_rows(monkeypatch)
    rows = write_rows(tmp_path / "bad.jsonl", [{"text": "two words", "tags": "A"}, *[{"text": "one", "tags": "B"}] * 20])
    with refused(DataError, "2 words and 1 tags"):
        train(rows, "data.tokenizer=words")
    with refused(SpecError):
        train(rows, "data.second=other")


def test_texts_of_similar_length_share_a_batch(sentences):
    fields = (*SMALL, f"data.files={sentences}")
    grouped, plain = (
        Job.prepare(glasshouse.runs.spec_of("tagger", *fields, *more), torch.device("cpu"))
        for more in (("training.group_by_length=true",), ())
    )
    assert plain.task.example_lengths(plain.prepared.splits["train"]) is None
    assert grouped.mean_length() < plain.mean_length()
