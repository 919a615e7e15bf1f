"""Class weights: their scale, balanced weights as in scikit-learn, their effect on the loss only, and bad weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

import glasshouse
from glasshouse import models
from glasshouse.data import prepared_data
from glasshouse.specs.errors import DataError, GlasshouseError, SpecError
from glasshouse.specs.spec import DataSpec, EvaluationSpec, ModelSpec, Spec, TrainingSpec
from glasshouse.tasks.classify import Classify, class_weights
from tests.refusals import refused


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
def prepared(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{'rare' if n % 6 == 0 else 'common'}\tword{n} x\n" for n in range(24)))
    data = DataSpec(files=(str(path),), tokenizer="words", vocabulary=50, context=4, validation=0.0, test=0.0)
    return data, prepared_data.prepare(data, columns=("label",))


def test_weights_change_the_training_loss_and_no_metric(prepared):
    data, prepared_rows = prepared
    plain, weighted = (
        Classify.from_spec(replace(Spec(), data=data, training=TrainingSpec(own={"class_weights": weights})))
        for weights in ((), ("balanced",))
    )
    spec = ModelSpec(kind="encoder", width=8, layers=1, heads=1)
    plain.complete_model(spec, prepared_rows)
    spec = weighted.complete_model(spec, prepared_rows)
    model = models.build(spec, prepared_rows.tokenizer.vocabulary, 4, seed=0).eval().requires_grad_(False)
    shard, index = prepared_rows.splits["train"], np.arange(24)
    whole = weighted.batch(shard, 0, index * 0, index)
    assert whole["weights"].mean() == pytest.approx(1.0)
    rare = prepared_rows.labels.index("rare")
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
