"""Optimisers: every one of the catalogue passes the same battery. AdamW and Muon have further tests elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import glasshouse
from glasshouse import models
from glasshouse.models import part_list
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import Interrupted, SpecError
from glasshouse.specs.spec import ModelSpec, TrainingSpec
from glasshouse.training import cost_plan, optimisers
from glasshouse.training.adamw import AdamW
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training import small_runs
from tests.training.optimiser_battery import (
    RATE,
    build,
    set_gradients,
    set_rate,
    small_model,
    take_steps,
    training_spec,
    weights,
)
from tests.training.small_runs import CPU, demo_spec, logged_metrics, newest_checkpoint, train_demo

CONSTANT = "training.schedule=constant"
DECAY = 0.2
BETA1, BETA2 = 0.8, 0.95


@pytest.fixture(params=catalogue.names("optimiser"))
def name(request):
    return request.param


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


def test_every_parameter_is_in_one_group_and_only_matrices_decay(name):
    model = small_model()
    groups = build(model, training_spec(name, weight_decay=0.3)).param_groups
    grouped = [parameter for group in groups for parameter in group["params"]]
    assert sorted(map(id, grouped)) == sorted(map(id, model.parameters()))
    for group in groups:
        assert {parameter.dim() >= 2 for parameter in group["params"]} == {group["weight_decay"] == 0.3}


def test_it_descends(name):
    """Least squares: find a matrix and a bias from their products with random vectors."""
    torch.manual_seed(0)
    model, target = torch.nn.Linear(6, 4), torch.nn.Linear(6, 4)
    inputs = torch.randn(64, 6)
    optimiser = build(model, training_spec(name, weight_decay=0.0))

    def loss():
        return (model(inputs) - target(inputs)).square().mean()

    before = loss().item()
    for step in range(200):
        set_rate(optimiser, 0.03 * (1 - step / 200))
        optimiser.zero_grad()
        loss().backward()
        optimiser.step()
    assert loss().item() < 0.05 * before


def test_weight_decay_shrinks_matrices_without_a_gradient(name):
    shrunk = {}
    for decay in (0.0, 0.5):
        model = small_model()
        optimiser = build(model, training_spec(name, weight_decay=decay))
        set_rate(optimiser)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        before = weights(model)
        optimiser.step()
        shrunk[decay] = {key: (tensor / before[key]).nan_to_num(1.0) for key, tensor in weights(model).items()}
    for key, ratio in shrunk[0.5].items():
        if ratio.dim() >= 2:
            # SGD adds the decay to the gradient, which then counts in the momentum of the next step too.
            lost = 0.01 * 0.5 * (1.9 if name == "sgd" else 1.0)
            torch.testing.assert_close(ratio, torch.full_like(ratio, 1 - lost), rtol=1e-3, atol=1e-4)
        else:
            assert torch.equal(ratio, torch.ones_like(ratio)), key
    assert all(torch.equal(ratio, torch.ones_like(ratio)) for ratio in shrunk[0.0].values())


def test_layer_decay_makes_smaller_steps_in_lower_blocks(name):
    model = small_model()
    before = weights(model)
    # Norms of one block differ from those of the next only by their depth.
    optimiser = build(model, training_spec(name, layer_decay=0.5))
    set_rate(optimiser)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    moved = {key: (tensor - before[key]).abs().max().item() for key, tensor in weights(model).items()}
    low, high = (moved[f"blocks.{block}.attention_connection.norm.weight"] for block in (0, 1))
    assert low == pytest.approx(0.5 * high, rel=1e-3)


def test_a_restored_state_continues_bit_for_bit(name):
    training = training_spec(name)
    whole = small_model()
    take_steps(whole, build(whole, training), range(5))
    first = small_model()
    optimiser = build(first, training)
    take_steps(first, optimiser, range(2))
    saved = {key: tensor.clone() for key, tensor in optimisers.state(optimiser, first).items()}
    second = small_model(seed=1)
    second.load_state_dict(first.state_dict())
    restored = build(second, training)
    optimisers.restore(restored, second, saved)
    take_steps(second, restored, range(2, 5))
    assert all(torch.equal(tensor, weights(whole)[key]) for key, tensor in weights(second).items())


def test_the_predicted_state_is_the_state_that_is_kept(name):
    for frozen in (False, True):
        model, training = small_model(), training_spec(name)
        for key, parameter in model.named_parameters():
            parameter.requires_grad_(not frozen or key.startswith("head."))
        optimiser = build(model, training)
        take_steps(model, optimiser, range(1))
        kept = sum(tensor.nbytes for tensor in optimisers.state(optimiser, model).values() if tensor.dim())
        assert optimisers.memory(model, training) == kept


def test_frozen_parameters_stay_and_have_no_state(name):
    model = small_model()
    for key, parameter in model.named_parameters():
        parameter.requires_grad_(not key.startswith("blocks.0."))
    before = weights(model)
    optimiser = build(model, training_spec(name))
    take_steps(model, optimiser, range(2))
    assert not any(key.startswith("blocks.0.") for key in optimisers.state(optimiser, model))
    for key, tensor in weights(model).items():
        assert torch.equal(tensor, before[key]) == key.startswith("blocks.0."), key


def test_parameters_can_be_unfrozen_later(name):
    model = small_model()
    optimiser = build(model, training_spec(name, freeze="gradual"))
    head = [parameter for key, parameter in model.named_parameters() if key.startswith("head.")]
    for parameter in model.parameters():
        parameter.requires_grad_(any(parameter is one for one in head))
    take_steps(model, optimiser, range(2))
    before = weights(model)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    take_steps(model, optimiser, range(2, 4))
    assert all(not torch.equal(tensor, before[key]) for key, tensor in weights(model).items())


def test_found_inf_leaves_every_weight_unchanged(name):
    """On CUDA nothing may wait for the device, so that the optimiser itself skips the step."""
    model = small_model()
    optimiser = build(model, training_spec(name))
    optimiser.found_inf = torch.zeros(())
    take_steps(model, optimiser, range(2))
    before = weights(model)
    optimiser.found_inf.fill_(1.0)
    set_gradients(model, 2)
    for parameter in model.parameters():
        parameter.grad[...] = float("nan")
    optimiser.step()
    set_gradients(model, 3)
    optimiser.step()
    assert all(torch.equal(tensor, before[key]) for key, tensor in weights(model).items())


def test_a_run_that_was_stopped_and_resumed_ends_with_the_same_bits(name, text, monkeypatch):
    changes = (f"training.optimiser={name}", CONSTANT, "training.checkpoint_every=1", "training.clip=0.5")
    whole = train_demo(text, *changes, name="whole").folder
    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        small_runs.stop_at(patch, 5)
        train_demo(text, *changes, name="stopped")
    resumed = glasshouse.resume("stopped", "cpu").folder
    assert logged_metrics(resumed) == logged_metrics(whole)
    expected, found = newest_checkpoint(whole).groups, newest_checkpoint(resumed).groups
    assert set(found) == set(expected)
    for group, tensors in expected.items():
        assert all(torch.equal(found[group][key], tensor) for key, tensor in tensors.items())


def test_lora_adapters_are_trained_and_merged(name, rows, pretrained):
    run = small_runs.fine_tune(
        rows, f"training.optimiser={name}", CONSTANT, "training.ema=0", "training.lora_rank=2", name="adapted"
    )
    before, after = pretrained.model.state_dict(), run.model.state_dict()
    key = "blocks.0.attention.projection.weight"
    assert not torch.equal(before[key], after[key])
    assert torch.equal(before["embedding.weight"], after["embedding.weight"])


def test_the_list_of_parts_has_every_optimiser():
    entries = {entry.word: entry for entry in part_list.parts_of("optimiser")}
    assert list(entries) == catalogue.names("optimiser")
    assert all(entry.about for entry in entries.values())
    assert "training.momentum" in entries["muon"].settings


def test_settings_of_an_optimiser_exist_only_with_it():
    spec = glasshouse.runs.spec_of("demo-lm", "training.optimiser=sgd", "training.momentum=0.5")
    assert spec.training.own["momentum"] == 0.5
    assert "momentum = 0.5" in spec_files.to_toml(spec)
    assert "momentum" not in spec_files.override(spec, ["training.optimiser=adamw"]).training.own
    with refused(SpecError, "training.optimiser=muon", "training.optimiser='adamw'"):
        glasshouse.runs.spec_of("demo-lm", "training.momentum=0.5")


def test_less_state_needs_less_memory(text):
    memory = {
        name: cost_plan.training_memory(Job.prepare(demo_spec(text, f"training.optimiser={name}", CONSTANT), CPU), "fp32")
        for name in ("adamw", "muon", "lion")
    }
    states = [memory[name]["optimiser"] for name in ("adamw", "muon", "lion")]
    assert states == sorted(states, reverse=True)
    assert len(set(states)) == 3
    assert len({sum(one.values()) - one["optimiser"] for one in memory.values()}) == 1


def test_training_on_a_cpu_does_not_import_the_compiler_of_torch(text):
    """`torch._dynamo` takes longer to import than torch."""
    program = f"""
import sys
from glasshouse.training import cost_plan
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, demo_spec

job = Job.prepare(demo_spec({str(text)!r}), CPU)
cost_plan.make(job)
job.engine().step(0)
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.9, True), (0.9, False), (0.0, True), (0.0, False)])
def test_sgd_steps_along_the_momentum(momentum, nesterov):
    model = small_model()
    optimiser = build(model, training_spec("sgd", momentum=momentum, nesterov=nesterov, weight_decay=DECAY))
    set_rate(optimiser)
    expected = weights(model)
    velocity = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    for step in range(4):
        set_gradients(model, step)
        for name, parameter in model.named_parameters():
            gradient = parameter.grad + (DECAY * expected[name] if parameter.dim() >= 2 else 0.0)
            velocity[name] = momentum * velocity[name] + gradient
            direction = gradient + momentum * velocity[name] if nesterov else velocity[name]
            expected[name] = expected[name] - RATE * direction
        optimiser.step()
    torch.testing.assert_close(weights(model), expected)


def test_lion_steps_by_the_sign_of_an_average_and_decay():
    model = small_model()
    optimiser = build(model, training_spec("lion", beta1=BETA1, beta2=BETA2, weight_decay=DECAY))
    set_rate(optimiser)
    expected = weights(model)
    average = {name: torch.zeros_like(tensor) for name, tensor in expected.items()}
    for step in range(4):
        set_gradients(model, step)
        for name, parameter in model.named_parameters():
            direction = torch.sign(BETA1 * average[name] + (1 - BETA1) * parameter.grad)
            decay = DECAY if parameter.dim() >= 2 else 0.0
            expected[name] = expected[name] - RATE * (direction + decay * expected[name])
            average[name] = BETA2 * average[name] + (1 - BETA2) * parameter.grad
        optimiser.step()
    torch.testing.assert_close(weights(model), expected)
