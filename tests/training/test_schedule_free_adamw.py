"""Schedule-free AdamW: the three sequences of the paper; the average is what is evaluated, saved and opened."""

import pytest
import torch

from glasshouse.specs.errors import SpecError
from glasshouse.training import optimisers
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.optimiser_battery import build, set_gradients, set_rate, small_model, training_spec, weights
from tests.training.small_runs import CPU, demo_spec, newest_checkpoint, train_demo

BETA1, BETA2, DECAY = 0.8, 0.95, 0.2
CHANGES = ("training.optimiser=schedule-free-adamw", "training.schedule=constant", "training.learning_rate=0.01")


def test_the_sequences_are_those_of_the_paper():
    """x is computed as a weighted mean of all z here, and from y and z in the optimiser."""
    model = small_model()
    optimiser = build(model, training_spec("schedule-free-adamw", beta1=BETA1, beta2=BETA2, weight_decay=DECAY))
    y, z, x = weights(model), weights(model), weights(model)
    squares = {name: torch.zeros_like(tensor) for name, tensor in y.items()}
    total, largest = 0.0, 0.0
    for step, rate in enumerate((0.01, 0.02, 0.04, 0.03)):
        set_rate(optimiser, rate)
        set_gradients(model, step)
        largest = max(largest, rate)
        total += largest**2
        for name, parameter in model.named_parameters():
            squares[name] = BETA2 * squares[name] + (1 - BETA2) * parameter.grad**2
            direction = parameter.grad / ((squares[name] / (1 - BETA2 ** (step + 1))).sqrt() + 1e-8)
            decay = DECAY if parameter.dim() >= 2 else 0.0
            z[name] = z[name] - rate * (direction + decay * y[name])
            x[name] = x[name] + largest**2 / total * (z[name] - x[name])
            y[name] = BETA1 * x[name] + (1 - BETA1) * z[name]
        optimiser.step()
    torch.testing.assert_close(weights(model), y, rtol=1e-4, atol=1e-5)
    averaged = {name: optimiser.averaged(parameter) for name, parameter in model.named_parameters()}
    torch.testing.assert_close(averaged, x, rtol=1e-4, atol=1e-5)


def test_steps_with_learning_rate_0_change_nothing():
    model = small_model()
    before = weights(model)
    optimiser = build(model, training_spec("schedule-free-adamw"))
    set_rate(optimiser, 0.0)
    set_gradients(model, 0)
    optimiser.step()
    assert all(torch.equal(tensor, before[name]) for name, tensor in weights(model).items())


def test_the_average_is_evaluated_and_training_goes_on_from_the_weights(text):
    engine = Job.prepare(demo_spec(text, *CHANGES), CPU).engine()
    for step in range(6):
        engine.step(step)
    trained = {name: tensor.clone() for name, tensor in engine.model.state_dict().items()}
    shard = engine.train_shard
    evaluated = engine.evaluate(shard)
    assert all(torch.equal(tensor, trained[name]) for name, tensor in engine.model.state_dict().items())
    average = engine.checkpoint_groups()["average"]
    plain = Job.prepare(demo_spec(text), CPU).engine()
    plain.use_weights(average, "the average")
    assert evaluated == pytest.approx(plain.evaluate(shard))
    plain.use_weights(trained, "the weights")
    assert evaluated != pytest.approx(plain.evaluate(shard))
    engine.use_weights(trained, "the weights")
    assert engine.evaluate(shard) == pytest.approx(plain.evaluate(shard))


def test_a_run_is_opened_with_the_average(text):
    run = train_demo(text, *CHANGES)
    groups = newest_checkpoint(run.folder).groups
    opened = run.model.state_dict()
    assert all(torch.equal(tensor, opened[name]) for name, tensor in groups["average"].items())
    assert not torch.equal(groups["average"]["embedding.weight"], groups["model"]["embedding.weight"])


def test_without_beta1_there_is_no_way_back_to_the_average():
    with refused(SpecError, "training.beta1=0", "0.9"):
        optimisers.check(training_spec("schedule-free-adamw", beta1=0.0))
