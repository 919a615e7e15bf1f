"""Importance of heads and layers: ablation is exact, and the estimates are what they say."""

from unittest import mock

import numpy as np
import pytest
import torch

import glasshouse
from glasshouse.inspection import importance
from glasshouse.inspection.capture import edit
from glasshouse.inspection.example_batches import held_out_batches
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


def test_every_kind_has_importances(inspected, tmp_path):
    methods = ("ablation", "gradient") if inspected.name == "performer" else importance.METHODS
    result = glasshouse.heads(inspected.folder.path, examples=8, output=tmp_path / "heads.svg", device="cpu")
    assert set(result.scores) == set(methods)
    assert all(np.isfinite(values).all() and len(values) == len(result.heads) for values in result.scores.values())
    assert (tmp_path / "heads.svg").exists()
    assert all(-1 <= one.low <= one.value <= one.high <= 1 for one in result.correlations().values())


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_ablation_is_the_rise_of_the_loss_without_the_head(inspected):
    result = importance.head_importance(inspected, held_out_batches(inspected, None, 4), ("ablation",))
    head = result.heads.index(importance.AttentionHead("blocks.1.attention", 2, 1))
    attention = inspected.model.blocks[1].attention
    weight = attention.output.weight.detach().clone()
    batches = held_out_batches(inspected, None, 4)
    try:
        # Without the head: its columns of the output matrix are zero.
        attention.output.weight.data[:, :8] = 0
        with torch.inference_mode():
            losses = [float(inspected.task.loss_sum(inspected.model, batch)) for batch in batches]
    finally:
        attention.output.weight.data.copy_(weight)
    count = sum(inspected.task.prediction_count(batch) for batch in batches)
    assert result.scores["ablation"][head] == pytest.approx(sum(losses) / count - result.loss, abs=1e-6)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_the_gradient_of_a_gate_is_the_slope_of_the_loss(inspected):
    """For one example, by a small change of the head's output."""
    result = importance.head_importance(inspected, held_out_batches(inspected, None, 1), ("gradient",))
    [batch] = held_out_batches(inspected, None, 1)

    def scaled(factor):
        def scale(mixed):
            changed = mixed.clone()
            changed[:, 0] *= factor
            return changed

        with torch.inference_mode(), edit(inspected.model, {"blocks.0.attention.mixed": scale}):
            return float(inspected.task.loss_sum(inspected.model, batch))

    slope = (scaled(1.05) - scaled(0.95)) / 0.1 / inspected.task.prediction_count(batch)
    assert result.scores["gradient"][0] == pytest.approx(abs(slope), rel=0.05, abs=2e-6)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
@pytest.mark.parametrize("replacement", importance.REPLACEMENTS)
def test_replacements_of_a_head_differ(inspected, replacement):
    batches = held_out_batches(inspected, None, 8)
    result = importance.head_importance(inspected, batches, ("ablation",), replacement)
    others = [
        importance.head_importance(inspected, batches, ("ablation",), other).scores["ablation"]
        for other in importance.REPLACEMENTS
        if other != replacement
    ]
    assert all(result.scores["ablation"] != other for other in others)


def test_unknown_methods_and_models_without_heads_are_refused(inspected):
    with refused(GlasshouseError, "'magic'"):
        importance.head_importance(inspected, [], ("magic",))
    with refused(GlasshouseError, "'nothing'"):
        importance.head_importance(inspected, [], ("ablation",), "nothing")


def test_equal_orders_have_a_rank_correlation_of_one():
    one = importance.rank_correlation([1.0, 2.0, 4.0, 8.0, 16.0, 3.0], [0.1, 0.2, 0.5, 0.7, 0.9, 0.3])
    assert one.value == pytest.approx(1)
    assert 0.9 < one.low <= one.high <= 1


def test_every_kind_has_layers(inspected):
    result = importance.layer_importance(inspected, held_out_batches(inspected, None, 8))
    whole = [row for row in result.layers if not row.part]
    two_stacks = inspected.spec.model.kind in ("encoder-decoder", "dual-encoder")
    assert len(whole) >= inspected.spec.model.layers + two_stacks
    assert len({row.title for row in result.layers}) == len(result.layers)
    assert all(abs(row.damage) < 100 for row in result.layers)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_a_removed_layer_is_a_model_without_it(inspected):
    batches = held_out_batches(inspected, None, 8)
    [damage] = [row.damage for row in importance.layer_importance(inspected, batches).layers if row.title == "layer 2"]
    whole = importance.batch_loss(inspected, inspected.model, batches)
    with mock.patch.object(inspected.model.blocks[1], "forward", lambda x, *rest, **named: x):
        without = importance.batch_loss(inspected, inspected.model, batches)
    assert damage == pytest.approx(without - whole, abs=1e-5)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_replacements_differ_and_unknown_ones_are_refused(inspected):
    batches = held_out_batches(inspected, None, 8)
    damages = {
        replacement: importance.layer_importance(inspected, batches, replacement).layers[0].damage
        for replacement in ("zero", "mean", "resampled")
    }
    assert len(set(damages.values())) == 3
    with refused(GlasshouseError, "magic"):
        importance.layer_importance(inspected, [], "magic")
