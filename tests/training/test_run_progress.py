"""The progress of a run: its best evaluation and early stopping."""

import pytest
import torch

from glasshouse.records import checkpoint, metric_log
from glasshouse.training import loop
from tests.training.small_runs import logged_metrics, new_runs, saved_weights, train_demo


def test_the_best_checkpoint_is_kept_and_used(text):
    changes = ("training.steps=24", "training.learning_rate=0.3", "evaluation.every=2", "training.schedule=constant")
    run = train_demo(text, *changes)
    steps, losses = metric_log.column(run.metrics, "validation.loss")
    best = int(steps[losses.index(min(losses))])
    assert run.facts["best"]["step"] == best
    assert best in checkpoint.steps(run.folder.checkpoints)
    stored = saved_weights(run, best)
    assert all(torch.equal(tensor, stored[name]) for name, tensor in run.model.state_dict().items())


def test_early_stopping_ends_each_run_by_itself(text):
    # With a learning rate of 0 the validation loss never improves after the first evaluation.
    runs = new_runs(text, "training.patience=1", learning_rates=(1e-2, 0.0, 1e-2))
    loop.train_group(runs, "cpu", together=True)
    facts = [run.facts() for run in runs]
    assert [entries["status"] for entries in facts] == ["done"] * 3
    assert [entries.get("stopped") for entries in facts] == [None, 8, None]
    assert max(row["step"] for row in logged_metrics(runs[1])) == 8
    alone = new_runs(text, "training.patience=1", stem="alone", seeds=(1,), learning_rates=(0.0,))
    assert loop.train(alone[0], "cpu")
    assert alone[0].facts()["stopped"] == 8
    assert alone[0].facts()["outcome"]["validation"] == pytest.approx(facts[1]["outcome"]["validation"], abs=1e-4)
