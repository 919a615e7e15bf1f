"""The engine: gradient accumulation, learning rates, moving averages, and weights that do not fit."""

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint
from glasshouse.specs.errors import GlasshouseError
from glasshouse.training.engine import load_weights
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.small_runs import CPU, FINE_TUNING, demo_spec


def test_gradient_accumulation_changes_neither_the_loss_nor_the_gradients(text):
    results = []
    for micro_batches in (1, 2, 8):
        engine = Job.prepare(demo_spec(text, f"training.gradient_accumulation={micro_batches}"), CPU).engine()
        loss = engine.gradients(0, engine.batch(0))
        results.append((loss, [parameter.grad.clone() for parameter in engine.model.parameters()]))
    for loss, gradients in results[1:]:
        torch.testing.assert_close(loss, results[0][0], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(gradients, results[0][1], rtol=1e-4, atol=1e-6)


GROWING = ("training.batch_warmup=0.5", "training.window_warmup=0.8", "training.steps=12")


def test_windows_that_are_split_have_the_same_tokens(text):
    """Neither the examples nor their order change. Each piece is a sequence of its own."""
    whole, split = (Job.prepare(demo_spec(text, *changes), CPU).engine() for changes in (GROWING[:1], GROWING[:2]))
    assert {tuple(split.batch(step)["inputs"].shape) for step in range(12)} == {(8, 4), (16, 4), (8, 8), (16, 8), (8, 16)}
    for step in range(12):
        for name, tensor in whole.batch(step).items():
            assert torch.equal(split.batch(step)[name].flatten(), tensor.flatten())
    batch = split.batch(0)
    pieces = [{name: tensor[row : row + 1] for name, tensor in batch.items()} for row in range(len(batch["inputs"]))]
    alone = torch.stack([split.gradients(0, piece) for piece in pieces]).mean()
    torch.testing.assert_close(split.gradients(0, batch), alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("position", ["learned", "rotary", "alibi"])
def test_steps_that_grow_do_not_depend_on_gradient_accumulation(text, position):
    losses = []
    for micro_batches in (1, 2):
        changes = (*GROWING, f"model.position={position}", f"training.gradient_accumulation={micro_batches}")
        engine = Job.prepare(demo_spec(text, *changes), CPU).engine()
        losses.append(torch.cat([engine.step(step).losses for step in range(12)]))
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)
    assert losses[0].isfinite().all()


def test_a_weight_that_does_not_fit_is_named(text):
    engine = Job.prepare(demo_spec(text), CPU).engine()
    saved = engine.checkpoint_groups()["model"]
    for change, kind in (
        ({"extra": torch.zeros(1)}, GlasshouseError),
        ({"embedding.weight": torch.zeros(2, 2)}, GlasshouseError),
    ):
        with refused(kind, *change):
            load_weights(engine.model, {**saved, **change}, "the file")
    saved.pop("embedding.weight")
    with refused(GlasshouseError, "'embedding.weight'"):
        load_weights(engine.model, saved, "the file")


def test_the_moving_average_is_evaluated_and_opened_in_place_of_the_weights(rows):
    changes = ("training.epochs=0", "training.steps=8", "training.ema=0.9", "training.learning_rate=0.02")
    run = glasshouse.train("classifier", *FINE_TUNING, f"data.files={rows}", *changes, device="cpu")
    saved = checkpoint.best(run.folder.checkpoints, warn=print)
    opened = run.model.state_dict()
    name = "blocks.0.attention.projection.weight"
    assert torch.equal(opened[name], saved.groups["average"][name])
    assert not torch.equal(opened[name], saved.groups["model"][name])
    step = int(run.facts["best"]["step"])
    logged = next(row for row in run.metrics if row["step"] == step and "validation.loss" in row)
    assert run.evaluate()["validation"]["loss"] == pytest.approx(logged["validation.loss"], rel=1e-5)
