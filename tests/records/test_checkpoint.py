"""Checkpoints: exact tensors, damage that is noticed, and checkpoints that are deleted."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from glasshouse.records import checkpoint, machine
from glasshouse.records.checkpoint import Checkpoint, CheckpointSaver
from glasshouse.specs.errors import GlasshouseError, RunError
from tests.refusals import refused


def save(path, step):
    tensors = {"w": torch.full((3,), float(step)), "half": torch.ones(2, dtype=torch.bfloat16)}
    checkpoint.save(path, Checkpoint(step, {"model": tensors}, {"best": {}}))


def test_tensors_are_loaded_exactly(tmp_path):
    save(tmp_path, 3)
    loaded = checkpoint.load(tmp_path, 3)
    assert loaded.step == 3
    assert torch.equal(loaded.groups["model"]["w"], torch.full((3,), 3.0))
    assert loaded.groups["model"]["half"].dtype == torch.bfloat16


def damage(kind, file):
    content = file.read_bytes()
    if kind == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif kind == "flipped bit":
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif kind == "foreign":
        file.write_bytes(b"PK\x03\x04 a zip file")
    elif kind == "missing":
        file.unlink()


# A flipped bit may leave JSON valid, so that case is not among these.
@pytest.mark.parametrize(
    ("kind", "file"),
    [
        *((kind, "model.safetensors") for kind in ("truncated", "flipped bit", "foreign", "missing")),
        *((kind, "state.json") for kind in ("truncated", "foreign", "missing")),
    ],
)
def test_a_damaged_checkpoint_is_reported_and_an_earlier_one_is_used(tmp_path, kind, file):
    save(tmp_path, 1)
    save(tmp_path, 2)
    damage(kind, checkpoint.folder_of(tmp_path, 2) / file)
    with refused(GlasshouseError, "step-00000002"):
        checkpoint.load(tmp_path, 2)
    warnings: list[str] = []
    newest = checkpoint.newest(tmp_path, warnings.append)
    assert newest is not None
    assert newest.step == 1
    assert "step-00000002" in warnings[0]


def test_the_best_checkpoint_is_the_one_that_the_newest_names(tmp_path):
    """Checkpoints name the step of the best evaluation."""
    save(tmp_path, 1)
    checkpoint.save(tmp_path, Checkpoint(2, {"model": {}}, {"best": {"step": 1, "metric": "loss", "value": 0.25}}))
    best = checkpoint.best(tmp_path, pytest.fail)
    assert best is not None
    assert best.step == 1


def test_pruning_keeps_the_best_and_the_latest_two(tmp_path):
    for step in range(1, 7):
        save(tmp_path, step)
    checkpoint.prune(tmp_path, keep={2})
    assert checkpoint.steps(tmp_path) == [2, 5, 6]


def test_unfinished_checkpoints_are_ignored_and_deleted(tmp_path):
    save(tmp_path, 1)
    (tmp_path / ".step-00000002.99.tmp").mkdir()
    assert checkpoint.steps(tmp_path) == [1]
    checkpoint.delete_unfinished(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["step-00000001"]


def test_weights_have_the_mode_of_other_files(tmp_path):
    save(tmp_path, 3)
    folder = checkpoint.folder_of(tmp_path, 3)
    assert (folder / "model.safetensors").stat().st_mode == (folder / "state.json").stat().st_mode


def test_a_kill_while_a_checkpoint_is_deleted_leaves_no_half_of_it(tmp_path, monkeypatch):
    for step in (1, 2, 3):
        save(tmp_path, step)

    def killed(path, **options):
        if Path(path).is_dir():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", killed)
        checkpoint.prune(tmp_path, keep=set())
    assert checkpoint.steps(tmp_path) == [2, 3]
    checkpoint.delete_unfinished(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [checkpoint.name_of(2), checkpoint.name_of(3)]


def test_the_checksum_of_a_large_file_shows_a_bar_and_is_the_same(tmp_path, monkeypatch):
    file = tmp_path / "model.safetensors"
    file.write_bytes(bytes(range(256)) * 20_000)
    plain = checkpoint._checksum(file)
    shown: list[float] = []
    monkeypatch.setattr(checkpoint, "LARGE_BYTES", 10)
    monkeypatch.setattr(checkpoint.progress_bar, "bar", lambda text: nullcontext(shown.append))
    assert checkpoint._checksum(file) == plain
    assert shown[-1] == 1
    assert len(shown) > 3


def state_of(step: int, weights: torch.Tensor) -> Checkpoint:
    return Checkpoint(step, {"model": {"weights": weights}}, {"best": {}})


def test_a_checkpoint_holds_the_values_of_its_step(tmp_path):
    saver, weights = CheckpointSaver(), torch.zeros(100_000)
    for step in range(1, 6):
        weights += 1
        saver.save(tmp_path, state_of(step, weights), {2})
        weights += 0.5  # the next step changes the tensors while the thread writes
    saver.wait()
    assert checkpoint.steps(tmp_path) == [2, 4, 5]
    assert float(checkpoint.load(tmp_path, 5).groups["model"]["weights"][0]) == 7.0


def test_an_error_of_the_thread_is_raised_by_the_next_call(tmp_path, monkeypatch):
    saver = CheckpointSaver()
    (tmp_path / "file").write_text("")
    saver.save(tmp_path / "file" / "checkpoints", state_of(1, torch.zeros(3)), set())
    with refused(RunError):
        saver.wait()
    saver.save(tmp_path, state_of(2, torch.zeros(3)), set())
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
    saver.save(tmp_path, state_of(1, torch.zeros(3)), set())
    assert checkpoint.steps(tmp_path) == []
    may_end.append(True)
    saver.wait()
    assert begun
    assert checkpoint.steps(tmp_path) == [1]


def test_without_memory_for_a_copy_training_waits_for_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 7999)
    saver = CheckpointSaver()
    for step, count in ((1, 999), (2, 1001)):
        saver.save(tmp_path, state_of(step, torch.zeros(count)), set())
        assert (saver._writing is None) == (step == 2)
    assert checkpoint.steps(tmp_path) == [1, 2]
