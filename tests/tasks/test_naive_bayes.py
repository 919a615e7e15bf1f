"""Naive Bayes beside a classifier's own answer: counted from the training text, there when it answers, saved with it."""

import numpy as np
import pytest
import torch
from sklearn.naive_bayes import MultinomialNB

import glasshouse
from glasshouse import models
from glasshouse.runs.run import Run
from glasshouse.specs.spec_files import model_spec
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas
from tests.refusals import refused

CPU = torch.device("cpu")
TEXTS = {"sea": ["the ship sails the sea", "waves and salt", "the sea"], "land": ["the hill", "grass and stone and grass"]}
TINY = (
    "model.width=8",
    "model.layers=1",
    "model.heads=1",
    "training.batch=2",
    "training.precision=fp32",
    "training.threads=1",
)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, texts in TEXTS.items() for text in texts * 4))
    return path


def spec_of(rows, *changes):
    words = (
        "model.dropout=0",
        f"data.files={rows}",
        "data.tokenizer=words",
        "data.validation=0",
        "data.test=0",
        "training.steps=3",
        *TINY,
    )
    return glasshouse.spec_of("classifier", *words, "model.head.naive_bayes=0.7", *changes)


def answers(model, tokens_BT, lengths_B):
    with torch.inference_mode():
        return model.eval()(tokens_BT, lengths=lengths_B)


def test_it_is_scikit_learns_with_one_more_of_each_token(rows):
    job = Job.of(spec_of(rows), CPU)
    model, train = job.model(), job.prepared.splits["train"]
    counts = np.zeros((train.documents, job.prepared.tokenizer.vocabulary))
    for row, text in enumerate(train.texts(np.arange(train.documents))):
        np.add.at(counts[row], text, 1)
    theirs = MultinomialNB(alpha=1.0).fit(counts, np.asarray(train.labels)).predict_joint_log_proba(counts)

    batch = job.task.batch(train, 0, np.zeros(train.documents, np.int64), np.arange(train.documents))
    own = model.eval().head.naive_bayes
    with_it = answers(model, batch["tokens"], batch["lengths"])
    model.head.naive_bayes = 0.0
    without = answers(model, batch["tokens"], batch["lengths"])
    assert own == 0.7
    assert torch.allclose(with_it - without, 0.7 * torch.from_numpy(theirs).float(), atol=1e-4), "padding counts for nothing"


def test_training_does_without_it(rows):
    job = Job.of(spec_of(rows), CPU)
    model = job.model().train()
    tokens, lengths = torch.tensor([[1, 2, 3]]), torch.tensor([3])
    learning = model(tokens, lengths=lengths)
    assert not torch.allclose(learning, answers(model, tokens, lengths))
    model.head.naive_bayes = 0.0
    assert torch.allclose(learning, answers(model, tokens, lengths))


def test_a_run_keeps_what_was_counted(rows):
    run = glasshouse.train(
        "classifier",
        f"data.files={rows}",
        "data.tokenizer=words",
        "data.validation=0",
        "data.test=0",
        "training.steps=3",
        *TINY,
        "model.head.naive_bayes=5",
        "training.ema=0.9",
        name="counted",
    )
    [sea, land] = Run(run.folder, "cpu").classify(["ship and waves", "stone"])
    assert sea["sea"] > 0.9
    assert land["land"] > 0.9


def test_replicas_count_too(rows):
    job = Job.of(spec_of(rows), CPU)
    together = Replicas([job, job])
    assert torch.equal(together.buffers["head.evidence_VC"][1], job.model().head.evidence_VC)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "recurrent"])
def test_every_kind_of_classifier_has_it(kind):
    head = {"kind": "classifier", "classes": 2, "naive_bayes": 1.0}
    model = models.build(model_spec(kind=kind, width=16, layers=1, heads=2, head=head), 9, 8).eval()
    tokens = torch.tensor([[1, 2, 3]])
    before = model(tokens)
    model.head.set_counts(torch.rand(9, 2) * 5, torch.tensor([3.0, 1.0]))
    assert not torch.allclose(model(tokens), before)


def test_it_is_refused_without_a_classifier():
    with refused("undeclared-setting", "model.head.naive_bayes=1.0", "model.head.kind=classifier"):
        model_spec(kind="encoder", head={"naive_bayes": 1.0})
