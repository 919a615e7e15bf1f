"""Pruning: the removed weights are gone, and the smaller model computes what the larger one would without the heads."""

import math

import pytest
import torch

import glasshouse
from glasshouse.inspection import pruning
from glasshouse.inspection.capture import edit
from glasshouse.inspection.example_batches import held_out_batches
from glasshouse.inspection.pruning import ORDERS, RANDOM, CurvePoint, PruningCurve
from glasshouse.inspection.text_input import TextInput
from glasshouse.models import head_pruning
from glasshouse.runs.run import Run
from glasshouse.specs.errors import CannotExport, GlasshouseError, RunError, SpecError
from tests.refusals import refused

from .inspected_runs import TEXTS


@pytest.fixture
def half(inspected, monkeypatch, request) -> tuple[Run, Run, tuple[str, ...]]:
    """A run, the run without half of its heads, and the names of these."""
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(inspected.folder.path.parent))
    name = f"{inspected.name}-{abs(hash(request.node.name)) % 10**8}"
    result, smaller = glasshouse.prune(inspected.folder.path, name, heads=0.5, examples=4, device="cpu")
    assert result.parameters[1] < result.parameters[0]
    return inspected, smaller, result.removed


def test_the_smaller_model_equals_the_larger_one_with_the_heads_set_to_zero(half):
    inspected, smaller, removed = half
    assert (
        len(removed)
        == len(pruning.head_importance(inspected, held_out_batches(inspected, None, 1), ("gradient",)).heads) // 2
    )

    def zero(heads):
        def edited(mixed):
            changed = mixed.clone()
            changed[:, heads] = 0
            return changed

        return edited

    by_attention: dict[str, list[int]] = {}
    for head in removed:
        attention, _, number = head.rpartition(".")
        by_attention.setdefault(attention, []).append(int(number) - 1)
    text, pruned = (TextInput(run, TEXTS[inspected.name][0]) for run in (inspected, smaller))
    pruned.source, pruned.ids = text.source, text.ids
    with torch.inference_mode():
        with edit(inspected.model, {f"{name}.mixed": zero(heads) for name, heads in by_attention.items()}):
            expected = text.forward()
        torch.testing.assert_close(pruned.forward(), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("inspected", ["post-norm-alibi", "encoder-decoder"], indirect=True)
def test_a_pruned_run_is_used_like_any_other(half, tmp_path):
    inspected, smaller, removed = half
    assert set(smaller.spec.model.pruned_heads) == set(removed)
    assert smaller.evaluate()["test"]["loss"] > 0
    maps, _ = glasshouse.look(smaller.folder.path, TEXTS[inspected.name][0], output=tmp_path / "maps.html", device="cpu")
    assert maps.weights.shape[1] == 2
    with refused(CannotExport):
        glasshouse.export(smaller.folder.path, "huggingface", tmp_path / "out")


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_a_pruned_run_can_be_pruned_and_trained_again(inspected, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(inspected.folder.path.parent))
    first, _ = glasshouse.prune(inspected.folder.path, "once", heads=0.3, examples=4, device="cpu")
    assert len(first.removed) == 1
    second, trained = glasshouse.prune("once", "twice", heads=0.34, then_train=2, examples=4, device="cpu")
    assert len(second.removed) == 1
    assert len(set(trained.spec.model.pruned_heads)) == 2
    assert trained.facts["status"] == "done"
    sizes = [attention.heads for attention in (trained.model.blocks[0].attention, trained.model.blocks[1].attention)]
    assert sum(sizes) == 2


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_single_weights_are_set_to_zero_by_magnitude(inspected, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(inspected.folder.path.parent))
    result, sparse = glasshouse.prune(inspected.folder.path, "sparse", weights=0.25, device="cpu")
    matrices = [module.weight for module in sparse.model.modules() if isinstance(module, torch.nn.Linear)]
    total = sum(matrix.numel() for matrix in matrices)
    assert result.zeros == sum(int((matrix == 0).sum()) for matrix in matrices) == int(0.25 * total)
    kept = torch.cat([matrix[matrix != 0].abs() for matrix in matrices]).min()
    originals = [module.weight for module in inspected.model.modules() if isinstance(module, torch.nn.Linear)]
    removed = [original[matrix == 0].abs() for original, matrix in zip(originals, matrices, strict=True)]
    assert torch.cat(removed).max() <= kept


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_bad_requests_are_refused(inspected, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(inspected.folder.path.parent))
    path = inspected.folder.path
    with refused(GlasshouseError):
        glasshouse.prune(path, "new")
    for share in (0.0, 1.0, -1.0):
        with refused(GlasshouseError, f"{share:g}"):
            glasshouse.prune(path, "new", heads=share)
    with refused(GlasshouseError, "0.1"):
        glasshouse.prune(path, "new", heads=0.1, examples=2)
    with refused(RunError, "rms-rotary"):
        glasshouse.prune(path, "rms-rotary", heads=0.5)
    with refused(GlasshouseError, "training"):
        glasshouse.prune(path, "new", weights=0.5, then_train=5)
    model = glasshouse.models.build(inspected.spec.model, 40, 24)
    with refused(GlasshouseError, "blocks.7.attention.1"):
        head_pruning.remove_heads(model, ["blocks.7.attention.1"])
    with refused(SpecError, "blocks.0.attention"):
        head_pruning.remove_heads(model, ["blocks.0.attention.1", "blocks.0.attention.2"])


@pytest.mark.slow
@pytest.mark.parametrize("inspected", ["grouped-query"], indirect=True)
def test_heads_that_share_keys_stay_together(inspected):
    model = glasshouse.models.build(inspected.spec.model, 40, 24)
    size = model.blocks[0].attention.heads // model.blocks[0].attention.key_value_heads
    assert size == 2
    with refused(SpecError, "1, 2"):
        head_pruning.remove_heads(model, ["blocks.0.attention.1"])


LOSSES = (2.0, 2.005, 2.02, 2.1, 2.01)


def made_up(losses, trained=None):
    trained = trained or [math.nan] * len(losses)
    points = [
        CurvePoint(index / 8, index, loss, further)
        for index, (loss, further) in enumerate(zip(losses, trained, strict=True))
    ]
    return PruningCurve("gradient", 8, tuple(points))


def test_the_removable_share_ends_at_the_first_point_beyond_the_tolerance():
    curve = made_up(LOSSES)
    assert curve.removable() == 2 / 8, "a later point within the tolerance does not count"
    assert curve.removable(tolerance=0.001) == 0
    assert curve.removable(tolerance=0.06) == 4 / 8


def test_trained_points_are_compared_with_the_trained_whole_model():
    assert made_up(LOSSES, [1.0, 1.005, 1.009, 1.2, 1.3]).removable(trained=True) == 2 / 8
    assert made_up(LOSSES, [math.nan] * 5).removable(trained=True) == 0


def test_curves_of_every_order_begin_with_the_whole_model(inspected):
    if inspected.spec.model.attention == "none":
        with refused(GlasshouseError, "heads"):
            pruning.pruning_curves(inspected, held_out_batches(inspected, None, 8))
        return
    curves = pruning.pruning_curves(inspected, held_out_batches(inspected, None, 8))
    assert {curve.order for curve in curves} <= set(ORDERS)
    assert RANDOM in {curve.order for curve in curves}
    assert len({curve.points[0].loss for curve in curves}) == 1
    for curve in curves:
        counts = [point.removed for point in curve.points]
        assert counts == sorted(set(counts))
        assert counts[0] == 0
        assert all(math.isfinite(point.loss) and math.isnan(point.trained_loss) for point in curve.points)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_further_training_lowers_the_training_loss_and_leaves_the_run_alone(inspected):
    before = {name: tensor.clone() for name, tensor in inspected.model.state_dict().items()}
    [curve] = pruning.pruning_curves(inspected, held_out_batches(inspected, None, 8), ["gradient"], then_train=5)
    assert all(math.isfinite(point.trained_loss) and point.trained_loss != point.loss for point in curve.points)
    assert all(torch.equal(tensor, before[name]) for name, tensor in inspected.model.state_dict().items())


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_bad_options_are_refused(inspected):
    with refused(GlasshouseError, "magic"):
        pruning.pruning_curves(inspected, [], ["magic"])
    with refused(GlasshouseError, "examples=1"):
        pruning.pruning_curves(inspected, held_out_batches(inspected, None, 1))
