"""Checkpoints with right checksums that this run has not written: they are refused before a step is taken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint
from glasshouse.records.checkpoint import Checkpoint, Tensors
from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError, RunError
from tests.refusals import refused
from tests.training.small_runs import train_demo

LINE = "The state of our union is strong, and we will keep it so for all who come after us.\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> RunFolder:
    """A run with a moving average that says it was interrupted. Each test replaces its checkpoints."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "text.txt").write_text(LINE * 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        return train_demo(folder / "text.txt", "training.checkpoint_every=4", "training.ema=0.9", name="foreign").folder


@pytest.fixture(scope="module")
def saved(trained: RunFolder) -> Checkpoint:
    """Its first checkpoint."""
    return checkpoint.load(trained.checkpoints, checkpoint.steps(trained.checkpoints)[0])


def replace_checkpoints(run: RunFolder, step: int, groups: dict[str, Tensors], values: dict[str, Any]) -> None:
    for old in checkpoint.steps(run.checkpoints):
        checkpoint.delete_step(run.checkpoints, old)
    checkpoint.save(run.checkpoints, Checkpoint(step, groups, values))
    run.record(status="interrupted")


def first_of(tensors: Tensors, end: str = "") -> str:
    return next(name for name in tensors if name.endswith(end))


def change(groups: dict[str, Tensors], group: str, end: str, how: Callable[[torch.Tensor], torch.Tensor | None]) -> None:
    """Replace one tensor of a group, or delete it."""
    name = first_of(groups[group], end)
    if (changed := how(groups[group].pop(name))) is not None:
        groups[group][name] = changed


CHANGES: dict[str, tuple[type[GlasshouseError], str, str, Callable[[torch.Tensor], torch.Tensor | None]]] = {
    "weights of another type": (RunError, "model", "", lambda tensor: tensor.to(torch.int8)),
    "weights that are truth values": (RunError, "model", "", lambda tensor: tensor > 0),
    "an average of another shape": (GlasshouseError, "average", "", lambda tensor: tensor[:1]),
    "an average without a tensor": (GlasshouseError, "average", "", lambda tensor: None),
    "moments of another shape": (RunError, "optimiser", "exp_avg", lambda tensor: tensor[:1]),
    "moments of another type": (RunError, "optimiser", "exp_avg", lambda tensor: tensor.double()),
    "moments without a counter": (RunError, "optimiser", "step", lambda tensor: None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_tensors_that_do_not_fit(trained, saved, name):
    code, group, end, how = CHANGES[name]
    groups = {one: dict(tensors) for one, tensors in saved.groups.items()}
    change(groups, group, end, how)
    replace_checkpoints(trained, saved.step, groups, saved.values)
    with refused(code):
        glasshouse.resume(trained.path, device="cpu")


@pytest.mark.parametrize("group", ["optimiser", "average"])
def test_a_group_is_missing(trained, saved, group):
    groups = {one: dict(tensors) for one, tensors in saved.groups.items() if one != group}
    replace_checkpoints(trained, saved.step, groups, saved.values)
    with refused(RunError, group):
        glasshouse.resume(trained.path, device="cpu")


def test_a_state_of_no_parameter(trained, saved):
    groups = {one: dict(tensors) for one, tensors in saved.groups.items()}
    groups["optimiser"]["nothing/step"] = torch.zeros(())
    replace_checkpoints(trained, saved.step, groups, saved.values)
    with refused(RunError, "nothing"):
        glasshouse.resume(trained.path, device="cpu")


def test_a_step_beyond_the_end(trained, saved):
    replace_checkpoints(trained, 10**6, saved.groups, saved.values)
    with refused(RunError, "1,000,000"):
        glasshouse.resume(trained.path, device="cpu")


def test_an_unknown_metric(trained, saved):
    values = {**saved.values, "best": {"step": saved.step, "metric": "beauty", "value": 1.0}}
    replace_checkpoints(trained, saved.step, saved.groups, values)
    with refused(RunError, "beauty"):
        glasshouse.resume(trained.path, device="cpu")


def test_a_folder_with_the_step_in_other_digits(trained, saved):
    replace_checkpoints(trained, saved.step, saved.groups, saved.values)
    for name in ("step-12", "step-+0000012", "step-\u0661\u0662"):
        (trained.checkpoints / name).mkdir(exist_ok=True)
    assert checkpoint.steps(trained.checkpoints) == [saved.step]
