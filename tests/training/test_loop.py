"""The training loop: a run learns, its spec alone reproduces it, and a group of replicas becomes ordinary runs."""

import math
import signal
import time

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint, metric_log, run_folder
from glasshouse.specs.errors import RunError
from glasshouse.training import loop
from glasshouse.training.engine import Engine
from tests.training.small_runs import demo_spec, logged_metrics, new_runs, newest_checkpoint, saved_weights, train_demo


def test_a_language_model_learns(text):
    run = train_demo(text, "training.steps=80", "training.learning_rate=0.01", "evaluation.every=20")
    losses = metric_log.column(run.metrics, "loss")[1]
    assert losses[0] > 5.0
    assert losses[-1] < 1.5
    assert run.facts["status"] == "done"
    assert run.facts["outcome"]["test"]["perplexity"] < 6
    assert run.evaluate()["test"]["loss"] == pytest.approx(run.facts["outcome"]["test"]["loss"], rel=1e-5)
    assert run.folder.report_file.exists()


def test_the_spec_alone_reproduces_a_run(text):
    first = train_demo(text, "training.seed=3")
    again = glasshouse.train(str(first.folder.spec_file), name="again", device="cpu")
    assert again.spec == first.spec
    assert all(torch.equal(tensor, saved_weights(again)[name]) for name, tensor in saved_weights(first).items())
    other = train_demo(text, "training.seed=4")
    assert not all(torch.equal(tensor, saved_weights(other)[name]) for name, tensor in saved_weights(first).items())


def test_a_run_without_validation_and_test_text_is_trained(text):
    run = train_demo(text, "data.validation=0", "data.test=0")
    assert run.facts["status"] == "done"
    assert "validation" not in run.facts["outcome"]
    assert run.metrics[-1]["step"] == 12
    assert run.sample("The", tokens=3)
    assert run_folder.find(run.name).report_file.exists()


def test_the_speed_counts_the_time_of_every_step_whose_results_are_read_together(text, monkeypatch):
    """On an accelerator results are read every few steps, and a step may wait for the ones before it."""
    seconds, step = 0.02, Engine.step

    def slow_step(self, index):
        time.sleep(seconds)
        return step(self, index)

    monkeypatch.setattr(Engine, "step", slow_step)
    monkeypatch.setitem(loop.READ_EVERY, "cpu", 5)
    run = train_demo(text, "training.threads=1", "training.precision=fp32")
    training, context = run.spec.training, run.spec.data.context
    speeds = metric_log.column(run.metrics, "tokens_per_second")[1]
    assert len(speeds) == training.steps
    assert max(speeds) <= training.batch * context / seconds


def test_too_little_memory_is_explained_and_the_run_continues_later(text, monkeypatch):
    run = run_folder.create(demo_spec(text), "large", "r")
    step = Engine.step

    def step_until_memory_is_full(self, index):
        if index == 5 and self.spec.training.learning_rate:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 TiB.")
        return step(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "step", step_until_memory_is_full)
        with pytest.raises(RunError, match=r"Tried to allocate 2 TiB.*training\.batch") as error:
            loop.train(run, "cpu")
    assert isinstance(error.value, RunError)
    assert loop.train(run, "cpu")
    assert run.facts()["status"] == "done"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_a_callback_swallows_while_the_loop_is_prepared_is_obeyed(text, monkeypatch):
    run = run_folder.create(demo_spec(text), "interrupted", "r")
    initialise = Engine.__init__

    class InterruptsWhenDeleted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def interrupted(self, spec, *arguments):
        if spec.training.learning_rate:  # an engine that is only timed has a learning rate of 0
            InterruptsWhenDeleted()
        initialise(self, spec, *arguments)

    monkeypatch.setattr(Engine, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loop.train(run, "cpu")
    assert not checkpoint.steps(run.checkpoints)


def test_replicas_become_ordinary_runs(text):
    together = new_runs(text)
    assert loop.train_group(together, "cpu", together=True) == []
    alone = new_runs(text, stem="alone")
    for run in alone:
        loop.train(run, "cpu")
    for one, other in zip(together, alone, strict=True):
        assert one.facts()["status"] == "done"
        for row, expected in zip(logged_metrics(one), logged_metrics(other), strict=True):
            assert row == pytest.approx(expected, rel=1e-3, abs=1e-4)
        assert one.facts()["outcome"]["test"]["loss"] == pytest.approx(other.facts()["outcome"]["test"]["loss"], abs=1e-4)
        for group, tensors in newest_checkpoint(other).groups.items():
            assert tensors.keys() == newest_checkpoint(one).groups[group].keys()
    run = glasshouse.open_run("r-1", device="cpu")
    assert run.spec.training.seed == 1
    assert run.sample("The state", tokens=5, temperature=0)[0].text
    assert run.evaluate()["test"]["loss"] == pytest.approx(run.facts["outcome"]["test"]["loss"], abs=1e-5)


def test_the_final_evaluation_does_not_count_as_training_time(text):
    """Runs of one group take their steps together, so they have the same training time."""
    runs = new_runs(text)
    loop.train_group(runs, "cpu", together=True)
    assert len({run.facts()["outcome"]["seconds"] for run in runs}) == 1


def test_a_replica_that_diverges_fails_and_the_others_continue(text):
    changes = ("training.warmup=0", "training.clip=0")
    runs = new_runs(text, *changes, learning_rates=(1e-3, 1e25, 1e-3))
    messages = loop.train_group(runs, "cpu", together=True)
    assert len(messages) == 1
    assert messages[0].startswith("r-1: step ")
    assert [run.facts()["status"] for run in runs] == ["done", "failed", "done"]
    assert all(math.isfinite(row["loss"]) for row in logged_metrics(runs[0]) if "loss" in row)
    alone = new_runs(text, *changes, stem="alone", seeds=(2,), learning_rates=(1e-3,))
    loop.train(alone[0], "cpu")
    assert runs[2].facts()["outcome"]["test"]["loss"] == pytest.approx(alone[0].facts()["outcome"]["test"]["loss"], abs=1e-4)
    assert loop.train_group(runs, "cpu") == [], "a failed run is not tried again"


@pytest.mark.parametrize(("seconds", "steps"), [(0.0, [4, 8, 12]), (1e9, [12])])
def test_replicas_are_not_saved_more_often_than_the_clock_allows(text, monkeypatch, seconds, steps):
    """A single run is saved at every evaluation."""
    saved: dict[str, list[int]] = {}
    save = checkpoint.save

    def record(checkpoints, saved_checkpoint):
        saved.setdefault(checkpoints.parent.name, []).append(saved_checkpoint.step)
        return save(checkpoints, saved_checkpoint)

    monkeypatch.setattr(checkpoint, "save", record)
    monkeypatch.setattr(loop, "MIN_SAVE_SECONDS", seconds)
    loop.train_group(new_runs(text, "data.validation=0", seeds=(0, 1)), "cpu", together=True)
    assert saved == {"r-0": steps, "r-1": steps}
    loop.train(new_runs(text, "data.validation=0", seeds=(2,))[0], "cpu")
    assert saved["r-2"] == [4, 8, 12]
