"""Checkpoints that a thread writes."""

import torch

from glasshouse.records import checkpoint, machine
from glasshouse.records.checkpoint import Checkpoint
from glasshouse.records.checkpoint_saver import CheckpointSaver
from glasshouse.specs.errors import RunError
from tests.refusals import refused


def example(step: int, weights: torch.Tensor) -> Checkpoint:
    return Checkpoint(step, {"model": {"weights": weights}}, {"best": {}})


def test_a_checkpoint_holds_the_values_of_its_step(tmp_path):
    saver, weights = CheckpointSaver(), torch.zeros(100_000)
    for step in range(1, 6):
        weights += 1
        saver.save(tmp_path, example(step, weights), {2})
        weights += 0.5  # the next step changes the tensors while the thread writes
    saver.wait()
    assert checkpoint.steps(tmp_path) == [2, 4, 5]
    assert float(checkpoint.load(tmp_path, 5).groups["model"]["weights"][0]) == 7.0


def test_an_error_of_the_thread_is_raised_by_the_next_call(tmp_path, monkeypatch):
    saver = CheckpointSaver()
    (tmp_path / "file").write_text("")
    saver.save(tmp_path / "file" / "checkpoints", example(1, torch.zeros(3)), set())
    with refused(RunError):
        saver.wait()
    saver.save(tmp_path, example(2, torch.zeros(3)), set())
    saver.wait()
    assert checkpoint.steps(tmp_path) == [2]


def test_saving_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    begun: list[bool] = []
    may_end: list[bool] = []
    save = checkpoint.save

    def slow_save(*arguments):
        begun.append(True)
        while not may_end:
            pass
        return save(*arguments)

    monkeypatch.setattr(checkpoint, "save", slow_save)
    saver = CheckpointSaver()
    saver.save(tmp_path, example(1, torch.zeros(3)), set())
    assert checkpoint.steps(tmp_path) == []
    may_end.append(True)
    saver.wait()
    assert begun
    assert checkpoint.steps(tmp_path) == [1]


def test_without_memory_for_a_copy_training_waits_for_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 7999)
    saver = CheckpointSaver()
    for step, count in ((1, 999), (2, 1001)):
        saver.save(tmp_path, example(step, torch.zeros(count)), set())
        assert (saver._thread is None) == (step == 2)
    assert checkpoint.steps(tmp_path) == [1, 2]
