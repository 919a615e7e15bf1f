"""Samples at evaluations: those of the weights of the step, bounded, and without influence on the training."""

from pathlib import Path

import pytest

import glasshouse
from glasshouse.records import checkpoint, sample_log
from glasshouse.runs.run import Run
from glasshouse.training import evaluation_samples
from tests.training import small_runs
from tests.training.small_runs import saved_weights, train_demo

PROMPTS = "evaluation.prompts=[the cat]"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    file = tmp_path / "text.txt"
    file.write_text("the cat sat on the mat and looked at the dog; " * 100)
    return file


@pytest.fixture
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_samples, "LARGEST_SHARE", 1.0)


@pytest.mark.usefixtures("unlimited")
@pytest.mark.parametrize("words", [(), ("training.ema=0.9", "model.position=alibi", "model.dropout=0.1")])
def test_the_samples_are_those_of_the_step(text: Path, words: tuple[str, ...]) -> None:
    run = train_demo(text, PROMPTS, "training.steps=8", *words, name="a")
    kept = sample_log.read(run.folder.path)
    assert {sample.step for sample in kept} == {4, 8}
    step = checkpoint.steps(run.folder.checkpoints)[-1]
    sampled = Run(run.folder, "cpu", at_step=step).sample("the cat", tokens=8, temperature=0.8, top_p=0.95, seed=0)
    assert [sample.text for sample in kept if sample.step == step] == [sampled[0].text]
    assert "temperature 0.8" in kept[0].how


def test_training_is_the_same_without_samples(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_samples, "LARGEST_SHARE", -1.0)
    plain = train_demo(text, "model.dropout=0.1", name="plain")
    assert sample_log.read(plain.folder.path) == ()
    monkeypatch.setattr(evaluation_samples, "LARGEST_SHARE", 1.0)
    sampled = train_demo(text, "model.dropout=0.1", name="sampled")
    assert sample_log.read(sampled.folder.path)
    ours, theirs = saved_weights(sampled), saved_weights(plain)
    assert all(ours[name].equal(theirs[name]) for name in theirs)


@pytest.mark.usefixtures("unlimited")
def test_runs_that_train_together_have_samples(text: Path) -> None:
    words = (*small_runs.DEMO, f"data.files={text}", "training.steps=4", "training.replicas=2")
    for run in glasshouse.runs.train_replicas("demo-lm", *words, name="both", device="cpu"):
        assert {sample.step for sample in sample_log.read(run.folder.path)} == {4}


def test_a_large_model_and_one_that_fails_have_no_samples(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_samples, "MOST_BYTES", 1)
    run = train_demo(text, "training.steps=4", name="large")
    assert sample_log.read(run.folder.path) == ()
    assert run.folder.recorded_status() == "done"
