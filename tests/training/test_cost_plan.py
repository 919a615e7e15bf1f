"""The cost plan: its parameters, tokens, FLOPs and memory, and the choices that it makes by timing."""

import pytest
import torch

from glasshouse.training import cost_plan
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.small_runs import CPU, demo_spec

RECOMPUTED = "training.checkpoint_activations=true"


def test_a_job_that_needs_more_memory_than_the_device_has_is_refused(text):
    job = Job.prepare(demo_spec(text, "training.batch=100000000"), CPU)
    with refused("too-little-memory"):
        cost_plan.make(job)
    priced = cost_plan.make(job, even_if_too_large=True)
    assert priced.seconds > priced.step_seconds > 0
    assert sum(priced.memory.values()) > cost_plan.device_memory(CPU)
    assert any("training needs about" in note for note in priced.notes)
    assert not priced.is_measured


def test_the_plan_counts_parameters_tokens_memory_and_flops(text):
    job = Job.prepare(demo_spec(text), CPU)
    plan = cost_plan.make(job)
    engine = job.engine()
    assert sum(plan.parameters.values()) == sum(p.numel() for p in engine.model.parameters())
    assert plan.tokens == 12 * 8 * 16
    assert plan.memory["weights"] == 4 * sum(plan.parameters.values())
    assert plan.flops > 12 * 8 * 3 * engine.model.flops(16)
    assert plan.seconds > plan.step_seconds > 0


def test_activation_checkpointing_needs_less_memory_and_more_processes_less_each(text):
    job = Job.prepare(demo_spec(text, "model.layers=8"), CPU)
    plain = cost_plan.training_memory(job, "fp32")
    recomputed = cost_plan.training_memory(Job.prepare(demo_spec(text, "model.layers=8", RECOMPUTED), CPU), "fp32")
    assert 0 < recomputed["activations"] < plain["activations"] / 2
    assert recomputed["weights"] == plain["weights"]
    shares = cost_plan.sharded(plain, 4)
    assert shares["optimiser"] == plain["optimiser"] / 4
    assert shares["activations"] == plain["activations"]
    two = Job.prepare(demo_spec(text, "model.layers=8", "training.processes=2"), CPU)
    assert cost_plan.training_memory(two, "fp32")["activations"] == pytest.approx(plain["activations"] / 2, rel=0.1)
    assert cost_plan.choose_parallelism(two) == ("single", "")


def test_at_its_peak_a_step_holds_either_activations_or_gradients(text):
    training = demo_spec(text).training
    memory = {"weights": 10, "gradients": 10, "optimiser": 20, "activations": 30, "loss gradient": 5}
    assert sum(cost_plan.at_peak(memory, training).values()) == 65
    assert sum(cost_plan.at_peak(memory | {"activations": 1}, training).values()) == 40
    offloaded = memory | {"optimiser": 0, cost_plan.VISITING: 40}
    assert cost_plan.at_peak(offloaded, training) == {"weights": 10, "gradients": 10, "optimiser": 0, cost_plan.VISITING: 40}
    assert cost_plan.at_peak(memory, demo_spec(text, "training.gradient_accumulation=2").training) == memory


def test_the_predicted_memory_of_activations_is_what_autograd_saves(text):
    job = Job.prepare(demo_spec(text), CPU)
    engine = job.engine()
    weights = {p.untyped_storage().data_ptr() for p in engine.model.parameters()}
    saved: dict[int, int] = {}

    def record(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor):
        loss = engine.task.loss_sum(engine.model, engine.batch(0))
    predicted = cost_plan.training_memory(job, "fp32")["activations"]
    assert predicted == pytest.approx(sum(saved.values()), rel=0.1)
    assert loss.isfinite()


@pytest.mark.parametrize(("alone", "together", "chosen"), [(1.0, 2.0, 1), (1.0, 1.1, 4), (2.0, 1.0, 4)])
def test_threads_are_chosen_by_measuring(text, monkeypatch, alone, together, chosen):
    job, threads = Job.prepare(demo_spec(text, "training.threads=0"), CPU), [4]
    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: threads[0])
        patch.setattr(torch, "set_num_threads", lambda count: threads.__setitem__(0, count))
        patch.setattr(cost_plan, "step_seconds", lambda *_: alone if threads[0] == 1 else together)
        plan = cost_plan.make(job)
    assert plan.threads == chosen
    assert plan.step_seconds == (alone if chosen == 1 else together)
    assert threads == [4], "torch's number of threads is restored"
