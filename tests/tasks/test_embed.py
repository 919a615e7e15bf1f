"""Embeddings of pairs of texts: the loss, which pairs are negatives, retrieval metrics, batches, and a run that learns."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.specs.errors import DataError, SpecError
from glasshouse.specs.spec import DataSpec, EvaluationSpec, Spec, TrainingSpec
from glasshouse.tasks.embed import Embed
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values
from tests.training.small_runs import stop_at

WORDS = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark")
SMALL = (
    "training.start_from=",
    "data.tokenizer=words",
    "data.context=12",
    "data.validation=0.2",
    "data.test=0",
    "model.width=16",
    "model.layers=1",
    "model.heads=2",
    "training.threads=1",
    "training.precision=fp32",
    "training.learning_rate=1e-2",
    "training.epochs=0",
    "training.batch=16",
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Two animals in one order, and the same two in the other order with filling."""
    lines = [f"{a} {b}\tthe {b} and {'very ' * (i % 3)}the {a}\n" for i, a in enumerate(WORDS) for b in WORDS if a != b]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    return tmp_path / "pairs.tsv"


def prepared_task(pairs: Path, group_by_length: bool = False) -> tuple[Embed, prepared_data.PreparedData]:
    data = DataSpec(files=(str(pairs),), tokenizer="words", vocabulary=40, context=12, validation=0.2, test=0.0)
    training = TrainingSpec(batch=8, own={"temperature": 0.1, "group_by_length": group_by_length})
    task = Embed(replace(Spec(task="embed"), data=data, training=training))
    prepared = prepared_data.prepare(data, columns=task.columns)
    task.set_vocabulary(prepared.tokenizer, ())
    return task, prepared


def fixed_vectors(sources: torch.Tensor, targets: torch.Tensor):
    outputs = iter((sources, targets))
    return lambda tokens, lengths: next(outputs)


def batch_of(source_ids: list[int], target_ids: list[int]) -> dict[str, torch.Tensor]:
    rows = len(source_ids)
    ids = {"source_ids": torch.tensor(source_ids), "target_ids": torch.tensor(target_ids)}
    tokens = {f"{side}_{name}": torch.ones(rows, 1) for side in ("source", "target") for name in ("tokens", "lengths")}
    return {**tokens, **ids}


def test_the_loss_is_the_cross_entropy_of_scaled_cosines_in_both_directions():
    sources, targets = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    task = Embed(Spec(training=TrainingSpec(batch=4, own={"temperature": 0.2})))
    scores = F.cosine_similarity(sources[:, None], targets[None], dim=-1) / 0.2
    answers = torch.arange(4)
    expected = 4 * (F.cross_entropy(scores, answers) + F.cross_entropy(scores.T, answers)) / 2
    loss = task.loss_sum(fixed_vectors(sources, targets), batch_of([0, 1, 2, 3], [0, 1, 2, 3]))
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize(("source_ids", "target_ids"), [([0, 0, 1], [0, 1, 2]), ([0, 1, 2], [0, 0, 1])])
def test_pairs_that_share_a_text_are_no_negatives_of_each_other(source_ids, target_ids):
    vectors = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    task = Embed(Spec(training=TrainingSpec(batch=3, own={"temperature": 0.01})))
    shared = task.loss_sum(fixed_vectors(vectors, vectors), batch_of(source_ids, target_ids))
    # The two equal vectors have half the probability each, which is exactly their target.
    assert shared == pytest.approx(2 * np.log(2), abs=1e-3)
    one_of_two = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert task.loss_sum(fixed_vectors(one_of_two, one_of_two), batch_of([0, 1, 2], [0, 1, 2])) < 1e-3
    assert task.loss_sum(fixed_vectors(one_of_two, one_of_two), batch_of(source_ids, target_ids)) > 10


def test_a_batch_holds_both_texts_of_each_pair(pairs):
    task, prepared = prepared_task(pairs)
    batch = task.batch(prepared.splits["train"], 0, np.zeros(3, int), np.array([0, 5, 9]))
    for side in ("source", "target"):
        shard = prepared.splits["train"] if side == "source" else prepared.splits["train"].target
        for row, example in enumerate((0, 5, 9)):
            length = batch[f"{side}_lengths"][row]
            text = prepared.tokenizer.decode(batch[f"{side}_tokens"][row, :length].tolist())
            assert text == prepared.tokenizer.decode(shard.texts(np.array([example]))[0])


def test_grouping_by_length_needs_fewer_tokens(pairs):
    task, prepared = prepared_task(pairs, group_by_length=True)
    train = prepared.splits["train"]
    lengths = task.example_lengths(train)
    order = lengths.argsort(kind="stable")
    tokens = [
        sum(task.batch(train, 0, part * 0, part)["target_tokens"].numel() for part in np.array_split(examples, 8))
        for examples in (order, np.arange(train.documents))
    ]
    assert tokens[0] < tokens[1]
    assert prepared_task(pairs)[0].example_lengths(train) is None


def test_metrics_are_of_the_search_among_all_targets(pairs):
    task, prepared = prepared_task(pairs)
    shard = prepared.splits["validation"]

    class Vectors(torch.nn.Module):
        """A vector of each text that counts its words, so that the right target of every source is the nearest."""

        def __init__(self) -> None:
            super().__init__()
            self.words = torch.nn.Parameter(torch.eye(prepared.tokenizer.vocabulary))
            known = [prepared.tokenizer.encode(word).tolist()[0] for word in WORDS]
            self.words.data[[i for i in range(len(self.words)) if i not in known]] = 0

        def forward(self, tokens, lengths):
            real = (torch.arange(tokens.shape[1]) < lengths[:, None])[..., None]
            return (self.words[tokens] * real).sum(1)

    values = task.evaluate(Vectors(), shard, EvaluationSpec(batch=7)).items
    # The pairs of `ant bee` and `bee ant` have the same words, so one wrong target scores as high.
    texts = [prepared.tokenizer.decode(shard.texts(np.array([index]))[0]).split() for index in range(shard.documents)]
    mirrored = np.array([text[::-1] in texts for text in texts])
    assert 0 < mirrored.sum() < len(texts)
    assert np.array_equal(values["recall_at_1"], (~mirrored).astype(float))
    assert np.array_equal(values["mrr"], np.where(mirrored, 0.5, 1.0))
    assert values["recall_at_10"].all()


def test_an_encoder_learns_from_the_users_pairs(pairs):
    run = glasshouse.train(
        "embedder", *SMALL, f"data.files={pairs}", "training.steps=80", "evaluation.every=40", name="animals", device="cpu"
    )
    outcome = run.facts["outcome"]["validation"]
    assert outcome["recall_at_10"] > 0.7, "10 of 26 at random would be 0.4"
    assert 0 <= outcome["recall_at_1"] <= outcome["mrr"] <= 1
    assert glasshouse.evaluate("animals", device="cpu")["validation"] == pytest.approx(outcome, rel=1e-5)
    check_item_values(run, {"validation": int(outcome["examples"])}, {"loss", "recall_at_1", "recall_at_10", "mrr"})
    sources, targets = run.embed(["ant bee", "fox hen"]), run.embed(["the bee and the ant", "the hen and the fox"])
    scores = F.normalize(sources, dim=-1) @ F.normalize(targets, dim=-1).T
    assert scores.argmax(1).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("training.gradient_accumulation=2", (SpecError, "task='embed'", "training.gradient_accumulation=2")),
        ("model.head.kind=masked-token", (SpecError, "model.head.kind=pooled")),
        ("training.label_smoothing=0.1", (SpecError, "training.label_smoothing")),
    ],
)
def test_a_spec_that_does_not_fit_is_refused(pairs, change, refusal):
    with refused(*refusal):
        glasshouse.train("embedder", *SMALL, f"data.files={pairs}", "training.steps=2", change, device="cpu")


def test_a_single_pair_is_refused(tmp_path):
    (tmp_path / "one.tsv").write_text("a b\tb a\n")
    with refused(DataError, "1 pairs"):
        glasshouse.train(
            "embedder", *SMALL, f"data.files={tmp_path / 'one.tsv'}", "data.validation=0", "training.steps=2", device="cpu"
        )


def test_a_resumed_run_with_grouped_batches_equals_an_uninterrupted_one(pairs):
    words = (*SMALL, f"data.files={pairs}", "training.steps=9", "training.group_by_length=true", "evaluation.every=3")
    whole = glasshouse.train("embedder", *words, name="whole", device="cpu")
    with pytest.MonkeyPatch.context() as patch:
        stop_at(patch, 4)
        with pytest.raises(glasshouse.GlasshouseError):
            glasshouse.train("embedder", *words, name="stopped", device="cpu")
    resumed = glasshouse.resume("stopped", device="cpu")
    weights = whole.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in resumed.model.state_dict().items())
