"""Ablation of whole layers: the rise of the loss is that of a model without them."""

from unittest import mock

import pytest

from glasshouse.inspection import layer_importance
from glasshouse.inspection.example_batches import example_batches
from glasshouse.inspection.head_importance import batch_loss
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


def test_every_kind_has_layers(inspected):
    result = layer_importance.layer_importance(inspected, examples=8)
    whole = [row for row in result.layers if not row.part]
    two_stacks = inspected.spec.model.kind in ("encoder-decoder", "dual-encoder")
    assert len(whole) >= inspected.spec.model.layers + two_stacks
    assert len({row.title for row in result.layers}) == len(result.layers)
    assert all(abs(row.damage) < 100 for row in result.layers)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_a_removed_layer_is_a_model_without_it(inspected):
    [damage] = [
        row.damage for row in layer_importance.layer_importance(inspected, examples=8).layers if row.title == "layer 2"
    ]
    with inspected.held_out_examples() as shard:
        batches = list(example_batches(inspected, shard, 8))
    whole = batch_loss(inspected, inspected.model, batches)
    with mock.patch.object(inspected.model.blocks[1], "forward", lambda x, *rest, **named: x):
        without = batch_loss(inspected, inspected.model, batches)
    assert damage == pytest.approx(without - whole, abs=1e-5)


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_replacements_differ_and_unknown_ones_are_refused(inspected):
    damages = {
        replacement: layer_importance.layer_importance(inspected, examples=8, replacement=replacement).layers[0].damage
        for replacement in ("zero", "mean", "resampled")
    }
    assert len(set(damages.values())) == 3
    with refused(GlasshouseError, "magic"):
        layer_importance.layer_importance(inspected, replacement="magic")
