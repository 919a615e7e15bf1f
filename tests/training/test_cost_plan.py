"""The cost plan: its parameters, tokens, FLOPs, memory and time."""

from dataclasses import asdict

import pytest
import torch

from glasshouse.specs.errors import SpecError
from glasshouse.training import compute_choice, cost_plan, devices
from glasshouse.training.compute_choice import ComputeChoice
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.small_runs import CPU, demo_spec

RECOMPUTED = "training.checkpoint_activations=true"


def test_a_job_that_needs_more_memory_than_the_device_has_is_refused(text):
    job = Job.prepare(demo_spec(text, "training.batch=10000000"), CPU)
    with refused(SpecError):
        cost_plan.make(job)
    priced = cost_plan.make(job, even_if_too_large=True)
    assert priced.seconds > priced.step_seconds > 0
    assert sum(priced.memory.values()) > devices.memory(CPU)
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


def test_the_plan_of_steps_that_grow_is_the_mean_over_all_steps(text):
    plain, growing, split = (
        Job.prepare(demo_spec(text, *changes), CPU)
        for changes in ((), ("training.batch_warmup=0.5",), ("training.window_warmup=1",))
    )
    assert cost_plan.make(growing).tokens == (3 * 2 + 3 * 4 + 6 * 8) * 16
    assert growing.step_flops() == pytest.approx(plain.step_flops() * 66 / 96)
    assert cost_plan.make(split).tokens == 12 * 8 * 16
    model = plain.engine().model
    assert split.step_flops() == 3 * 8 * (6 * 4 * model.flops(4) + 6 * 2 * model.flops(8)) // 12
    assert split.step_flops() < plain.step_flops()


def test_the_time_of_a_step_is_the_mean_over_the_stages(text, monkeypatch):
    job = Job.prepare(demo_spec(text, "training.batch_warmup=0.5"), CPU)
    clock = [0.0]

    class Timed:
        """Steps that take as many seconds as the batch has sequences."""

        stages, steps = job.stages, job.steps

        def step(self, step):
            clock[0] += self.stages.at(step).batch

    monkeypatch.setattr(cost_plan.time, "perf_counter", lambda: clock[0])
    assert cost_plan.step_seconds(Timed(), CPU) == pytest.approx((3 * 2 + 3 * 4 + 6 * 8) / 12)


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


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("model.dropout=0.2",),
        ("model.norm=rms", "model.activation=swiglu", "model.position=rotary"),
        ("model.layers=4", RECOMPUTED),
        ("training.gradient_accumulation=2", "training.lora_rank=2"),
    ],
)
def test_a_small_forward_pass_is_computed_and_predicts_the_memory_that_fake_tensors_do(text, overrides, monkeypatch):
    job = Job.prepare(demo_spec(text, *overrides), CPU)
    before = torch.get_rng_state()
    with monkeypatch.context() as patched:
        patched.setattr(cost_plan, "FakeTensorMode", None)
        computed = [cost_plan.training_memory(job, "fp32", of_replica) for of_replica in (False, True)]
    assert torch.equal(torch.get_rng_state(), before), "random numbers have not advanced"
    monkeypatch.setattr(cost_plan, "SMALL_FLOPS", 0)
    assert computed == [cost_plan.training_memory(job, "fp32", of_replica) for of_replica in (False, True)]


def test_a_plan_times_few_of_few_steps(text, monkeypatch):
    engine = Job.prepare(demo_spec(text), CPU).engine()
    taken = []
    plain = engine.step

    def counted(step):
        taken.append(step)
        return plain(step)

    monkeypatch.setattr(engine, "step", counted)
    assert cost_plan.step_seconds(engine, CPU, 0.1) > 0
    assert len(taken) == 2


def test_a_step_is_timed_on_the_threads_that_training_will_use(text, monkeypatch):
    timed_on = []

    def seconds(engine, device, most_steps):
        timed_on.append(torch.get_num_threads())
        return 1.0

    monkeypatch.setattr(cost_plan, "step_seconds", seconds)
    monkeypatch.setattr(
        compute_choice, "choose", lambda job: ComputeChoice("fp32", 3, "fp32 on 3 threads: by rule (a test)")
    )
    before = torch.get_num_threads()
    plan = cost_plan.make(Job.prepare(demo_spec(text, "training.threads=0"), CPU))
    assert timed_on == [plan.threads] == [3]
    assert plan.choice == asdict(plan)["choice"] == "fp32 on 3 threads: by rule (a test)"
    assert torch.get_num_threads() == before, "torch's number of threads is restored"
