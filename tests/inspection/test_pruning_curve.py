"""Pruning curves: what can be removed, the order of removal, and further training."""

import math

import pytest
import torch

from glasshouse.inspection import pruning_curve
from glasshouse.inspection.pruning_curve import ORDERS, RANDOM, CurvePoint, PruningCurve
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

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
            pruning_curve.pruning_curves(inspected)
        return
    curves = pruning_curve.pruning_curves(inspected, examples=8)
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
    [curve] = pruning_curve.pruning_curves(inspected, ["gradient"], examples=8, then_train=5)
    assert all(math.isfinite(point.trained_loss) and point.trained_loss != point.loss for point in curve.points)
    assert all(torch.equal(tensor, before[name]) for name, tensor in inspected.model.state_dict().items())


@pytest.mark.parametrize("inspected", ["rms-rotary"], indirect=True)
def test_bad_options_are_refused(inspected):
    with refused(GlasshouseError, "magic"):
        pruning_curve.pruning_curves(inspected, ["magic"])
    with refused(GlasshouseError, "examples=1"):
        pruning_curve.pruning_curves(inspected, examples=1)
