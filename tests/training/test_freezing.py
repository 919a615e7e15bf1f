"""Freezing: depths of parameters, a frozen backbone, and gradual unfreezing."""

import torch

from glasshouse import models
from glasshouse.specs.errors import SpecError
from glasshouse.specs.spec import ModelSpec, TrainingSpec
from glasshouse.training.freezing import UnfreezingSchedule, depths
from tests.refusals import refused
from tests.training.small_runs import fine_tune, saved_weights


def test_depths_rise_through_the_model():
    model = models.build(ModelSpec(kind="encoder-decoder", width=16, layers=2, heads=2, position="learned"), 20, 8)
    known = depths(model)
    assert known["embedding.weight"] == 0
    assert known["encoder.blocks.1.attention.projection.weight"] == 2
    assert known["decoder.blocks.0.attention.projection.weight"] == 3
    assert known["decoder.final_norm.weight"] == max(known.values()) == 5


def test_a_frozen_backbone_keeps_its_weights_and_the_head_learns(pretrained, rows):
    run = fine_tune(rows, "training.freeze=backbone", "training.learning_rate=0.05")
    before, after = pretrained.model.state_dict(), saved_weights(run, 8)
    backbone = [name for name in after if name in before and not name.startswith("head.")]
    assert "blocks.2.attention.projection.weight" in backbone
    for name in backbone:
        assert torch.equal(after[name], before[name]), name
    assert not torch.equal(after["head.answer.weight"], saved_weights(run, 4)["head.answer.weight"])
    memory = run.facts["plan"]["memory"]
    assert 0 < memory["optimiser"] < memory["weights"]


def test_gradual_unfreezing_goes_from_the_top_down(pretrained, rows):
    run = fine_tune(
        rows, "training.freeze=gradual", "training.unfrozen_by=1", "evaluation.every=1", "training.checkpoint_every=2"
    )
    model = models.build(run.spec.model, run.tokenizer.vocabulary, run.spec.data.context)
    schedule = UnfreezingSchedule(model, TrainingSpec(freeze="gradual", unfrozen_by=1.0, steps=8), 8)
    lowest = [schedule.lowest_depth(step) for step in range(9)]
    assert lowest == sorted(lowest, reverse=True)
    assert lowest[0] == schedule.top
    assert lowest[8] == 0
    before, after = pretrained.model.state_dict(), saved_weights(run, 8)
    known = depths(model)
    last_lowest = schedule.lowest_depth(7)
    for name in after:
        if name in before and not name.startswith("head."):
            assert torch.equal(after[name], before[name]) == (known[name] < last_lowest), name


def test_a_frozen_model_without_a_head_to_train_is_refused():
    model = models.build(ModelSpec(width=16, layers=1, heads=2), 20, 8)
    with refused(SpecError):
        UnfreezingSchedule(model, TrainingSpec(freeze="backbone"), 5)
