"""Classification: batches, class weights, naive Bayes in addition to the model, runs that learn, refused specs."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.class_weight import compute_class_weight

import glasshouse
from glasshouse import models
from glasshouse.data import prepared_data
from glasshouse.records import checkpoint
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError, SpecError
from glasshouse.specs.spec import DataSpec, EvaluationSpec, ModelSpec, Spec, TrainingSpec
from glasshouse.tasks.classifier_task import WideFit
from glasshouse.tasks.classify import Classify, class_weights
from glasshouse.training import cost_plan
from glasshouse.training.job import Job
from tests import needs
from tests.data.user_files.labelled_rows import WORDS, labelled_rows
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values
from tests.training.small_runs import delete_checkpoint

CPU = torch.device("cpu")
SMALL: dict[str, dict[str, object]] = {
    "model": {"width": 16, "layers": 1, "heads": 2, "dropout": 0.0, "head": {"hidden": 8}},
    "training": {"epochs": 6, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 3e-3},
    "evaluation": {"every": 20},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in labelled_rows()))
    return path


def test_a_batch_holds_texts_truncated_and_padded_to_one_length(file):
    data = DataSpec(files=(str(file),), tokenizer="words", vocabulary=50, context=4)
    prepared = prepared_data.prepare(data, columns=("label",))
    task = Classify(replace(Spec(), data=data))
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
    assert task.truncated(shard) == sum(len(shard.texts(np.array([i]))[0]) > 4 for i in range(shard.documents)) > 0


@pytest.mark.parametrize("kind", ["encoder", *needs.slow("decoder", "recurrent")])
def test_a_classifier_learns_from_a_file(file, kind):
    data = {"files": [str(file)], "validation": 0.1, "test": 0.1}
    run = glasshouse.train("classifier", name=kind, device="cpu", data=data, **_tables_of(kind))
    outcome = run.facts["outcome"]
    assert outcome["test"]["accuracy"] >= 0.85 > outcome["test"]["majority"]
    assert run.spec.model.head.own["classes"] == 3
    probabilities = glasshouse.open_run(kind, device="cpu").classify(["wren owl", "saw"])
    assert [next(iter(by_class)) for by_class in probabilities] == ["bird", "tool"]
    assert sum(probabilities[0].values()) == pytest.approx(1.0)
    again = glasshouse.evaluate(kind, file, device="cpu")[str(file)]
    assert again["accuracy"] > 0.9
    assert "recall.bird" in again
    prepared = prepared_data.prepare(run.spec.data, run.tokenizer, columns=("label",))
    sizes = {split: prepared.splits[split].documents for split in ("validation", "test")}
    check_item_values(run, sizes, {"accuracy", "loss"})
    assert set(run.item_values("train")["accuracy"]) <= {0.0, 1.0}


def _tables_of(kind):
    tables = {section: dict(table) for section, table in SMALL.items()}
    tables["model"]["kind"] = kind
    if kind == "recurrent":
        tables["model"].update(cell="gru", attention="none", bidirectional=True)
    return tables


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("fruit\tapple\nfruit\tpear\nfruit\tplum\nfruit\tfig\n", DataError),
        ("fruit\tapple\ntool\tsaw\n", DataError),
    ],
)
def test_a_file_with_too_few_classes_or_rows_is_refused(tmp_path, content, kind):
    path = tmp_path / "a.tsv"
    path.write_text(content)
    with refused(kind):
        glasshouse.train("classifier", name="x", device="cpu", data={"files": [str(path)]}, **SMALL)


def test_a_head_or_source_that_cannot_classify_is_refused(file):
    with refused(SpecError, "model.head.classes=5"):
        glasshouse.train(
            "classifier", device="cpu", data={"files": [str(file)]}, model={**SMALL["model"], "head": {"classes": 5}}
        )
    with refused(SpecError, "model.head.kind=classifier"):
        glasshouse.train("classifier", device="cpu", data={"files": [str(file)]}, model={"head": {"kind": "masked-token"}})
    with refused(DataError):
        glasshouse.train("classifier", device="cpu", data={"source": "state-of-the-union"})


@pytest.fixture
def naive_bayes_rows(tmp_path):
    texts_by_label = {
        "sea": ["the ship sails the sea", "waves and salt", "the sea"],
        "land": ["the hill", "grass and stone and grass"],
    }
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, texts in texts_by_label.items() for text in texts * 4))
    return path


def naive_bayes_changes(rows, weight):
    return (
        f"data.files={rows}",
        "data.tokenizer=words",
        "data.validation=0",
        "data.test=0",
        "model.width=8",
        "model.layers=1",
        "model.heads=1",
        "model.dropout=0",
        "model.head.wide=0",
        f"model.head.naive_bayes={weight}",
        "training.steps=3",
        "training.batch=2",
        "training.precision=fp32",
        "training.threads=1",
    )


def naive_bayes_job(rows):
    return Job.prepare(glasshouse.runs.spec_of("classifier", *naive_bayes_changes(rows, 0.7)), CPU)


def evaluated_logits(model, tokens_BT, lengths_B):
    with torch.inference_mode():
        return model.eval()(tokens_BT, lengths=lengths_B)


def test_naive_bayes_is_that_of_scikit_learn_with_add_one_smoothing(naive_bayes_rows):
    job = naive_bayes_job(naive_bayes_rows)
    model, train = job.model(), job.prepared.splits["train"]
    counts = np.zeros((train.documents, job.prepared.tokenizer.vocabulary))
    for row, text in enumerate(train.texts(np.arange(train.documents))):
        np.add.at(counts[row], text, 1)
    expected = MultinomialNB(alpha=1.0).fit(counts, np.asarray(train.labels)).predict_joint_log_proba(counts)

    batch = job.task.batch(train, 0, np.zeros(train.documents, np.int64), np.arange(train.documents))
    with_evidence = evaluated_logits(model, batch["tokens"], batch["lengths"])
    assert model.head.naive_bayes == 0.7
    model.head.naive_bayes = 0.0
    without = evaluated_logits(model, batch["tokens"], batch["lengths"])
    difference = with_evidence - without
    assert torch.allclose(difference, 0.7 * torch.from_numpy(expected).float(), atol=1e-4), "padding counts for nothing"


def test_naive_bayes_is_not_used_in_training(naive_bayes_rows):
    model = naive_bayes_job(naive_bayes_rows).model().train()
    tokens, lengths = torch.tensor([[1, 2, 3]]), torch.tensor([3])
    in_training = model(tokens, lengths=lengths)
    assert not torch.allclose(in_training, evaluated_logits(model, tokens, lengths))
    model.head.naive_bayes = 0.0
    assert torch.allclose(in_training, evaluated_logits(model, tokens, lengths))


def test_a_run_saves_its_naive_bayes_counts(naive_bayes_rows):
    changes = (*naive_bayes_changes(naive_bayes_rows, 5), "training.ema=0.9")
    run = glasshouse.train("classifier", *changes, name="counted", device="cpu")
    [sea, land] = Run(run.folder, "cpu").classify(["ship and waves", "stone"])
    assert sea["sea"] > 0.9
    assert land["land"] > 0.9


@pytest.fixture
def wide_rows(tmp_path):
    """Texts whose class only a pair of words tells: `not bad` and `so good` are up."""
    trees, lines = ("fir", "oak", "elm", "yew", "ash"), []
    for first, second, tree, other in product(("not", "so"), ("bad", "good"), trees, trees):
        label = "up" if (first == "not") == (second == "bad") else "down"
        lines.append(f"{label}\t{tree} {first} {second} {other}\n")
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(lines))
    return path


def wide_changes(rows, steps=4):
    return (
        f"data.files={rows}",
        "data.tokenizer=words",
        "data.vocabulary=40",
        "model.width=8",
        "model.layers=1",
        "model.heads=1",
        "model.head.wide=2",
        "model.head.wide_buckets=1024",
        f"training.steps={steps}",
        "training.batch=4",
        "training.precision=fp32",
        "training.threads=1",
        "evaluation.every=2",
    )


def test_the_wide_part_knows_pairs_of_words_before_training(wide_rows):
    job = Job.prepare(glasshouse.runs.spec_of("classifier", *wide_changes(wide_rows)), CPU)
    model, test = job.model(), job.prepared.splits["test"]
    wide = job.task.evaluate(model, test, job.spec.evaluation).metrics
    assert wide["accuracy"] >= 0.9


def test_training_batches_alone_have_the_logits_of_models_that_did_not_see_the_text(wide_rows):
    job = Job.prepare(glasshouse.runs.spec_of("classifier", *wide_changes(wide_rows)), CPU)
    model = job.model()
    splits, examples = job.prepared.splits, np.arange(4)
    batch = job.task.batch(splits["train"], 0, examples * 0, examples)
    assert batch["wide_logits"].shape == (4, 2)
    assert model.head.wide is not None
    assert not torch.allclose(batch["wide_logits"], model.head.wide(batch["tokens"], batch["lengths"]), atol=1e-3)
    assert "wide_logits" not in job.task.batch(splits["validation"], 0, examples * 0, examples)
    with_logits = job.task.loss_sum(model.train(), batch)
    batch["wide_logits"] = torch.zeros(4, 2)
    assert with_logits != job.task.loss_sum(model, batch)


def test_a_job_that_is_only_timed_fits_no_wide_part(wide_rows, monkeypatch):
    job = Job.prepare(glasshouse.runs.spec_of("classifier", *wide_changes(wide_rows)), CPU)
    monkeypatch.setattr(WideFit, "_fit", None)
    timed = cost_plan.timing_job(job).model()
    assert not timed.head.wide.weight_KC.any()
    with pytest.raises(TypeError):
        job.model()


def test_a_run_saves_its_wide_part_and_resumes_exactly(wide_rows):
    whole, resumed = (glasshouse.train("classifier", *wide_changes(wide_rows), device="cpu") for _ in range(2))
    for step in checkpoint.steps(resumed.folder.checkpoints)[1:]:
        delete_checkpoint(resumed.folder, step)
    resumed.folder.record(status="training")
    resumed = glasshouse.resume(resumed.folder.path, device="cpu")
    one, two = (checkpoint.load(run.folder.checkpoints, 4).groups for run in (whole, resumed))
    for group, tensors in one.items():
        for name, tensor in tensors.items():
            assert torch.equal(tensor, two[group][name]), name
    assert Run(whole.folder, "cpu").model.head.wide.weight_KC.any()


def test_grouping_by_length_changes_the_order_and_no_metric(tmp_path):
    words = ("sun", "sea", "sky", "fog", "ice")
    rows = [f"{'ab'[i % 2]}\t{' '.join(words[(i + j) % 5] for j in range(1 + i * 7 % 11))} {i}\n" for i in range(60)]
    (tmp_path / "rows.tsv").write_text("".join(rows))
    common = ("data.tokenizer=words", "data.context=16", f"data.files={tmp_path / 'rows.tsv'}", "data.validation=0.3")
    spec = glasshouse.runs.spec_of("classifier", *common, "training.group_by_length=true")
    job = Job.prepare(spec, CPU)
    plain = Job.prepare(glasshouse.runs.spec_of("classifier", *common), CPU)
    assert plain.task.example_lengths(plain.prepared.splits["train"]) is None
    assert job.mean_length() < plain.mean_length()
    model, shard = job.model(), job.prepared.splits["validation"]
    grouped, ungrouped = (each.task.evaluate(model, shard, spec.evaluation).items for each in (job, plain))
    assert np.array_equal(grouped["accuracy"], ungrouped["accuracy"])
    np.testing.assert_allclose(grouped["loss"], ungrouped["loss"], atol=1e-5)
    with refused(SpecError, "training.group_by_length"):
        glasshouse.runs.spec_of("language-model", "data.source=state-of-the-union", "training.group_by_length=true")


def test_weights_have_a_mean_of_one_and_balanced_weights_are_those_of_scikit_learn():
    truth = np.array([0] * 50 + [1] * 8 + [2] * 2)
    counts = np.bincount(truth, minlength=4)
    balanced = class_weights(["balanced"], ("a", "b", "c", "d"), counts)
    assert balanced[:3] == pytest.approx(compute_class_weight("balanced", classes=np.arange(3), y=truth))
    chosen = class_weights(["b=4", "c=0"], ("a", "b", "c", "d"), counts)
    assert (chosen * counts).sum() == pytest.approx(60)
    assert chosen[1] == pytest.approx(4 * chosen[0])
    assert chosen[2] == 0
    for words in (["b"], ["b=-1"], ["b=1", "b=2"]):
        with refused(SpecError, "b"):
            class_weights(words, ("a", "b"), counts[:2])
    with refused(GlasshouseError, "'z'"):
        class_weights(["z=1"], ("a", "b"), counts[:2])
    with refused(DataError):
        class_weights(["a=0", "b=0"], ("a", "b"), counts[:2])


@pytest.fixture
def prepared_rows(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{'rare' if n % 6 == 0 else 'common'}\tword{n} x\n" for n in range(24)))
    data = DataSpec(files=(str(path),), tokenizer="words", vocabulary=50, context=4, validation=0.0, test=0.0)
    return data, prepared_data.prepare(data, columns=("label",))


def test_weights_change_the_training_loss_and_no_metric(prepared_rows):
    data, prepared = prepared_rows
    plain, weighted = (
        Classify(replace(Spec(), data=data, training=TrainingSpec(own={"class_weights": weights})))
        for weights in ((), ("balanced",))
    )
    spec = ModelSpec(kind="encoder", width=8, layers=1, heads=1)
    plain.complete_model(spec, prepared)
    spec = weighted.complete_model(spec, prepared)
    model = models.build(spec, prepared.tokenizer.vocabulary, 4, seed=0).eval().requires_grad_(False)
    shard, index = prepared.splits["train"], np.arange(24)
    whole = weighted.batch(shard, 0, index * 0, index)
    assert whole["weights"].mean() == pytest.approx(1.0)
    rare = prepared.labels.index("rare")
    assert whole["weights"][whole["labels"] == rare].unique().tolist() == [pytest.approx(24 / (2 * 4))]
    logits = model(whole["tokens"], lengths=whole["lengths"])
    weights = torch.tensor(compute_class_weight("balanced", classes=np.arange(2), y=whole["labels"].numpy())).float()
    expected = torch.nn.functional.cross_entropy(logits, whole["labels"], weight=weights)
    loss = weighted.loss_sum(model, whole) / weighted.prediction_count(whole)
    assert float(loss) == pytest.approx(float(expected), rel=1e-5), "the weighted mean of the losses"
    parts = [weighted.batch(shard, 0, half * 0, half) for half in (index[:12], index[12:])]
    assert float(sum(weighted.loss_sum(model, part) for part in parts)) == pytest.approx(float(loss) * 24, rel=1e-5)
    metrics = [task.evaluate(model, shard, EvaluationSpec()).metrics for task in (plain, weighted)]
    assert metrics[0] == metrics[1]


def test_weights_can_be_set_by_an_override_and_bad_ones_are_refused(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{'rare' if n % 6 == 0 else 'common'}\tword{n % 5}\n" for n in range(24)))
    small = {
        "model": {"width": 8, "layers": 1, "heads": 1, "head": {"hidden": 0}},
        "data": {"files": [str(path)], "test": 0.0},
    }
    changes = ("training.epochs=1", "training.threads=1", "training.precision=fp32")
    run = glasshouse.train("classifier", *changes, "training.class_weights=[rare=3]", name="x", device="cpu", **small)
    assert run.spec.training.own["class_weights"] == ("rare=3",)
    with refused(GlasshouseError, "'odd'"):
        glasshouse.train("classifier", *changes, "training.class_weights=[odd=3]", name="y", device="cpu", **small)
    with refused(SpecError, "training.class_weights", "'even'"):
        glasshouse.train("classifier", *changes, "training.class_weights=even", name="y", device="cpu", **small)
