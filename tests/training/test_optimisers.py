"""Optimisers: which parameters decay, and the learning rate of each depth."""

from glasshouse import models
from glasshouse.specs.spec import ModelSpec, TrainingSpec
from glasshouse.training.job import Job
from glasshouse.training.optimisers import AdamW
from tests.training.small_runs import CPU, demo_spec


def test_only_matrices_decay(text):
    engine = Job.prepare(demo_spec(text), CPU).engine()
    decayed, others = engine.optimiser.param_groups
    assert all(p.dim() == 2 for p in decayed["params"])
    assert all(p.dim() == 1 for p in others["params"])
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)


def test_layer_decay_multiplies_the_learning_rate_once_for_each_depth_below_the_top():
    model = models.build(ModelSpec(kind="encoder-decoder", width=16, layers=2, heads=2, position="learned"), 20, 8)
    factors = {group["lr_factor"] for group in AdamW.build(model, TrainingSpec(layer_decay=0.5)).param_groups}
    assert factors == {0.5**n for n in range(6)}
