"""Regression: numbers are learned in standardised form and predicted in their own unit."""

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.data import prepared_data
from glasshouse.specs import recipes
from glasshouse.specs.errors import DataError, Interrupted, SpecError
from glasshouse.studies.study_values import metric_declaration
from glasshouse.training.job import Job
from tests import needs
from tests.refusals import refused
from tests.tasks.item_metrics import check_item_values
from tests.tasks.json_rows import use_json_rows, write_rows
from tests.training.small_runs import stop_at

CPU = torch.device("cpu")
# The value of a text is 1000 and the sum of these.
WORTH = {"owl": 10.0, "wren": 20.0, "saw": -10.0, "rasp": -30.0}
SMALL = (
    "model.width=16",
    "model.layers=1",
    "model.dropout=0",
    "model.head.hidden=0",
    "training.batch=8",
    "training.threads=1",
    "training.precision=fp32",
    "training.learning_rate=3e-3",
    "evaluation.every=20",
)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    use_json_rows(monkeypatch)
    generator = np.random.default_rng(0)
    texts = [generator.choice(list(WORTH), generator.integers(1, 5)) for _ in range(200)]
    content = [{"text": " ".join(words), "value": str(1000 + np.mean([WORTH[word] for word in words]))} for words in texts]
    return write_rows(tmp_path / "rows.jsonl", content)


def train(rows, *changes, name=None):
    return glasshouse.train("regressor", f"data.files={rows}", *SMALL, *changes, name=name, device="cpu")


@pytest.mark.parametrize("kind", ["encoder", *needs.slow("decoder", "recurrent")])
def test_numbers_are_learned_and_predicted_in_their_own_unit(rows, kind):
    own = ("model.cell=gru", "model.attention=none", "model.position=none") if kind == "recurrent" else ()
    run = train(rows, f"model.kind={kind}", "training.epochs=5", "evaluation.every=50", *own)
    test = run.facts["outcome"]["test"]
    assert test["r2"] > 0.6
    assert test["spearman"] > 0.7
    assert test["rmse"] >= test["mae"] > 0
    high, low = (
        prediction["value"] for prediction in glasshouse.predict(run.folder.path, ["wren wren", "rasp rasp"], "cpu")
    )
    assert 1005 < high < 1030
    assert 960 < low < 990
    again = glasshouse.evaluate(run.folder.path, rows, device="cpu")[str(rows)]
    assert again["examples"] == 200
    splits = prepared_data.prepare(run.spec.data, run.tokenizer, columns=run.task.columns).splits
    check_item_values(run, {split: splits[split].documents for split in ("validation", "test")}, {"mae", "loss"})
    assert test["loss"] == pytest.approx((test["rmse"] / run.spec.model.head.own["deviation"]) ** 2)


def test_the_scale_is_that_of_the_training_split(rows):
    job = Job.prepare(recipes.spec("regressor", [f"data.files={rows}", *SMALL]), CPU)
    values = job.prepared.splits["train"].values
    head = job.model().head
    assert head.mean == pytest.approx(values.mean())
    assert head.deviation == pytest.approx(values.std())
    batch = job.task.batch(job.prepared.splits["train"], 0, np.zeros(len(values), int), np.arange(len(values)))
    assert float(batch["values"].mean()) == pytest.approx(0, abs=1e-5)
    assert float(batch["values"].std(correction=0)) == pytest.approx(1, abs=1e-5)


def test_the_best_checkpoint_has_the_lowest_rmse(rows):
    run = train(rows, "training.epochs=3", "evaluation.every=4", "training.learning_rate=0.05")
    measured = {row["step"]: row["validation.rmse"] for row in run.metrics if "validation.rmse" in row}
    assert run.model_step() == min(measured, key=measured.get)


@pytest.mark.usefixtures("always_together")
@pytest.mark.slow
def test_replicas_learn_as_single_runs_do(rows):
    together = glasshouse.runs.train_replicas(
        "regressor", f"data.files={rows}", *SMALL, "training.epochs=1", "training.replicas=2", name="r", device="cpu"
    )
    alone = train(rows, "training.epochs=1", "training.seed=1", name="alone")
    [_, second] = together
    assert len(second.facts["together"]) == 2
    assert second.facts["outcome"]["test"]["rmse"] == pytest.approx(alone.facts["outcome"]["test"]["rmse"], rel=1e-4)


@pytest.mark.parametrize(
    ("values", "kind"), [(["3"] * 20, DataError), (["1", "2", "many"] * 7, DataError), (["nan"] * 20, DataError)]
)
def test_values_that_cannot_be_learned_are_refused(tmp_path, monkeypatch, values, kind):
    use_json_rows(monkeypatch)
    content = [{"text": f"text {number}", "value": value} for number, value in enumerate(values)]
    with refused(kind):
        train(write_rows(tmp_path / "bad.jsonl", content))


def test_a_head_that_predicts_no_number_is_refused(rows):
    with refused(SpecError, "model.head.kind=regressor"):
        glasshouse.train("regressor", data={"files": [str(rows)]}, model={"head": {"kind": "pooled"}}, device="cpu")


def test_a_lower_error_and_a_higher_correlation_are_better():
    better = {name: metric_declaration(f"test.{name}", "regress").better for name in ("rmse", "mae", "r2", "spearman")}
    assert better == {"rmse": "lower", "mae": "lower", "r2": "higher", "spearman": "higher"}


@pytest.mark.slow
def test_a_study_prefers_the_lower_rmse(rows):
    settings = tuple(change for change in SMALL if not change.startswith("training.learning_rate"))
    study = glasshouse.compare(
        "regressor",
        f"data.files={rows}",
        *settings,
        "training.epochs=4",
        "training.learning_rate=1e-6,3e-3",
        seeds=3,
        name="rates",
        device="cpu",
    )
    assert study.design.metric == "validation.rmse"
    [sentence] = study.verdicts.values()
    assert "better" in sentence


def test_a_resumed_run_ends_as_one_that_was_not_stopped(rows, monkeypatch):
    whole = train(rows, "training.epochs=1", "evaluation.every=4", name="whole")
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        stop_at(patch, 8)
        train(rows, "training.epochs=1", "evaluation.every=4", name="stopped")
    resumed = glasshouse.resume("stopped", device="cpu")
    assert resumed.facts["outcome"]["test"] == whole.facts["outcome"]["test"]
