"""The number of replicas: what cannot be replicas, and how many fit into the device's memory."""

import pytest
import torch

from glasshouse.training import cost_plan, replica_count
from glasshouse.training.replicas import Replicas
from tests.needs import needs_cuda
from tests.refusals import refused
from tests.training.small_runs import character_spec, jobs_by_seed


def test_runs_that_cannot_be_replicas_are_trained_one_after_another(text):
    spec = character_spec(text, "training.gradient_accumulation=2")
    count, reason = replica_count.choose(jobs_by_seed(spec), None)
    assert count == 1
    assert "training.gradient_accumulation=2" in reason
    with refused("cannot-be-replicas", "training.gradient_accumulation=2"):
        replica_count.choose(jobs_by_seed(spec), True)


def test_replicas_can_be_forbidden_or_are_chosen_by_timing(text):
    jobs = jobs_by_seed(character_spec(text))
    assert replica_count.choose(jobs, False) == (1, "")
    count, reason = replica_count.choose(jobs, None)
    assert count in (1, 3)
    assert "ms" in reason


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
