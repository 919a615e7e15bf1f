"""The optimiser's state in the CPU's memory: the same steps, taken chunk by chunk. Some tests need a CUDA device."""

import gc
import weakref

import pytest
import torch

import glasshouse
from glasshouse.specs.errors import SpecError
from glasshouse.training import cost_plan, offloading
from glasshouse.training.job import Job
from glasshouse.training.offloading import OffloadedState
from tests.needs import needs_cuda
from tests.refusals import refused
from tests.training.small_runs import CPU, DEMO, demo_spec, saved_weights, stop_at

OFFLOADED = "training.offload_optimiser=true"
DEVICES = [CPU, pytest.param(torch.device("cuda"), marks=needs_cuda)]


def losses(engine, steps: int) -> list[float]:
    return [float(engine.step(step).losses) for step in range(steps)]


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks of some parameters each, and every tensor is large enough to be moved."""
    monkeypatch.setattr(offloading, "SMALLEST", 64)
    monkeypatch.setattr(OffloadedState.__init__, "__defaults__", (8 * 1024,))


@pytest.mark.parametrize("device", DEVICES)
def test_the_steps_are_those_of_the_optimiser_alone(text, small_chunks, device):
    plain, offloaded = (
        Job.prepare(demo_spec(text, "model.layers=3", "training.precision=fp32", *changes), device).engine()
        for changes in (("training.cuda_graph=false",), (OFFLOADED,))
    )
    assert len(offloaded.offloaded.chunks) > 3
    assert losses(offloaded, 8) == losses(plain, 8)
    expected = plain.checkpoint_groups()
    for group, tensors in offloaded.checkpoint_groups().items():
        assert all(torch.equal(tensor.cpu(), expected[group][name].cpu()) for name, tensor in tensors.items())


@pytest.mark.parametrize("device", DEVICES)
def test_a_loss_that_is_not_finite_changes_nothing(text, small_chunks, device):
    engine = Job.prepare(demo_spec(text, OFFLOADED), device).engine()
    losses(engine, 2)
    with torch.no_grad():
        next(engine.model.parameters()).fill_(float("nan"))
    before = [parameter.clone() for parameter in engine.model.parameters()]
    losses(engine, 2)
    assert engine.failures() == [0]
    assert all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(before, engine.model.parameters(), strict=True))


@pytest.mark.parametrize("device", DEVICES)
def test_a_run_stops_and_resumes_bit_for_bit(text, monkeypatch, small_chunks, device):
    words = ("demo-lm", *DEMO, f"data.files={text}", "training.steps=12", "training.precision=fp32", OFFLOADED)
    whole = glasshouse.train(*words, name="whole", device=str(device))
    with monkeypatch.context() as patch:
        stop_at(patch, 8)  # an evaluation: between evaluations, results of a GPU are not read
        with pytest.raises(glasshouse.GlasshouseError):
            glasshouse.train(*words, name="stopped", device=str(device))
    resumed = glasshouse.resume("stopped", device=str(device))
    weights = saved_weights(whole)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in saved_weights(resumed).items())


@needs_cuda
def test_between_steps_the_state_lies_in_page_locked_memory(text, small_chunks):
    engine = Job.prepare(demo_spec(text, OFFLOADED), torch.device("cuda")).engine()
    losses(engine, 3)
    tensors = [value for state in engine.optimiser.state.values() for value in state.values() if value.nbytes >= 64]
    assert tensors
    assert all(tensor.device.type == "cpu" and tensor.is_pinned() for tensor in tensors)
    reference = weakref.ref(engine.offloaded)
    del engine
    gc.collect()
    assert reference() is None
    assert not any(tensor.is_pinned() for tensor in tensors)


def test_the_prediction_counts_the_chunks_that_visit_the_gpu():
    assert offloading.bytes_on_gpu([4, 4], chunk=100) == 16
    assert offloading.bytes_on_gpu([1000] * 50, chunk=2000) == 2 * offloading.IN_FLIGHT * 2000
    assert offloading.bytes_on_gpu([9000, *[1000] * 50], chunk=2000) == 2 * (9000 + (offloading.IN_FLIGHT - 1) * 2000)


def test_on_a_cpu_the_state_counts_as_memory_of_the_device(text):
    plain, offloaded = (Job.prepare(demo_spec(text, *changes), CPU) for changes in ((), (OFFLOADED,)))
    assert cost_plan.training_memory(plain, "fp32") == cost_plan.training_memory(offloaded, "fp32")


def test_several_processes_are_refused(text):
    with refused(SpecError):
        demo_spec(text, OFFLOADED, "training.processes=2")
