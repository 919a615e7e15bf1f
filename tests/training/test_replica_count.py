"""The number of replicas: by rule, without a clock; what cannot be replicas; how many fit into the memory."""

import pytest
import torch

from glasshouse.specs.errors import SpecError
from glasshouse.training import cost_plan, replica_count
from glasshouse.training.replicas import Replicas
from tests.needs import needs_cuda
from tests.refusals import refused
from tests.training.small_runs import character_spec, forbid_clocks, jobs_by_seed


def test_runs_that_cannot_be_replicas_are_trained_one_after_another(text):
    spec = character_spec(text, "training.gradient_accumulation=2")
    count, reason = replica_count.choose(jobs_by_seed(spec), None)
    assert count == 1
    assert "training.gradient_accumulation=2" in reason
    with refused(SpecError, "training.gradient_accumulation=2"):
        replica_count.choose(jobs_by_seed(spec), True)


def test_replicas_can_be_forbidden_and_forced(text):
    jobs = jobs_by_seed(character_spec(text))
    assert replica_count.choose(jobs, False) == (1, "")
    assert replica_count.choose(jobs, True) == (3, "")


def test_the_rule_decides_by_the_flops_of_a_step(text, monkeypatch):
    jobs = jobs_by_seed(character_spec(text), 4)
    flops = jobs[0].step_flops()
    monkeypatch.setitem(replica_count.LIMITS, "cpu", flops)
    count, reason = replica_count.choose(jobs, None)
    assert (count, reason[:36]) == (4, "4 replicas together: by rule (a step")
    monkeypatch.setitem(replica_count.LIMITS, "cpu", flops - 1)
    count, reason = replica_count.choose(jobs, None)
    assert (count, reason[:35]) == (1, "one after another: by rule (a step ")
    assert replica_count.choose(jobs[:3], None) == (1, "one after another: by rule (3 runs, replicas from 4 on)")


@pytest.mark.parametrize(
    ("device", "flops", "together"),
    [("cpu", 5e6, True), ("cpu", 1.6e8, False), ("cuda", 1.75e9, True), ("cuda", 1e12, False), ("mps", 1e6, False)],
)
def test_the_rule_at_the_sizes_that_were_timed(device, flops, together):
    assert replica_count.trains_together_by_rule(torch.device(device), flops, 4)[0] is together
    assert "one after another" in replica_count.rule_text(torch.device(device))


def test_no_clock_is_read_in_choosing(text, monkeypatch):
    jobs = jobs_by_seed(character_spec(text), 4)
    before = replica_count.choose(jobs, None)
    forbid_clocks(monkeypatch)
    assert [replica_count.choose(jobs, None) for _ in range(3)] == [before] * 3


def test_a_model_that_torch_cannot_vectorise_trains_alone(text, monkeypatch):
    def fail(self, step):
        raise NotImplementedError("no batching rule\nfor this operation")

    monkeypatch.setattr(Replicas, "step", fail)
    jobs = jobs_by_seed(character_spec(text), 4)
    count, reason = replica_count.choose(jobs, None)
    assert (count, "(no batching rule)" in reason) == (1, True)
    with refused(SpecError, "no batching rule"):
        replica_count.choose(jobs, True)


def test_runs_of_which_only_one_fits_train_alone(text, monkeypatch):
    jobs = jobs_by_seed(character_spec(text))
    monkeypatch.setattr(cost_plan, "free_memory", lambda device: replica_count.predicted_memory(jobs[0]))
    assert replica_count.choose(jobs, True) == (1, "")
    assert replica_count.choose(jobs, None) == (1, replica_count.TOO_LARGE)


@needs_cuda
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_chosen_number_of_replicas_fits_into_the_memory(text, precision, monkeypatch):
    """The device pretends to have memory for only a few."""
    spec = character_spec(text, f"training.precision={precision}", "training.batch=512", "model.width=64")
    [job] = jobs_by_seed(spec, 1, "cuda")
    available = 20 * replica_count.predicted_memory(job)
    monkeypatch.setattr(cost_plan, "free_memory", lambda device: available)
    count, reason = replica_count.choose(jobs_by_seed(spec, 40, "cuda"), True)
    assert 1 <= count <= 16
    assert not reason
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    replicas = Replicas(jobs_by_seed(spec, count, "cuda"))
    for step in range(4):
        replicas.step(step)
    assert torch.cuda.max_memory_allocated() - before < available
