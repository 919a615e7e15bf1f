"""What this machine has to make steps fast, and jobs without each of these."""

import torch

from glasshouse import cpu_kernels
from glasshouse.cpu_kernels import row_kernel
from glasshouse.training import compute_rule, fast_paths
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, demo_spec


def test_what_is_missing_is_named_with_its_reason(monkeypatch):
    monkeypatch.setattr(row_kernel, "_openmp", lambda: (None, 0, 0))
    monkeypatch.setattr(compute_rule, "times_bf16", lambda: False)
    monkeypatch.setattr(fast_paths, "COMPILERS", ("no-such-compiler",))
    described = fast_paths.describe(CPU)
    assert described["kernels for CPUs"] == "yes, in fp32, in one thread: torch has no GNU OpenMP here"
    assert described["bfloat16 products"].startswith("no: ")
    assert described["training.compile=true"] == "no: it needs one of no-such-compiler"
    assert fast_paths.describe(torch.device("mps")) == {}


def test_a_step_without_the_kernels_gives_the_same_loss(text):
    job = Job.prepare(demo_spec(text, "model.width=64", "training.batch=16", "data.context=32"), CPU)
    (variant,) = fast_paths.without(job, "fp32").values()
    other, context = variant
    fast = job.engine("fp32").step(0)
    with context:
        assert not cpu_kernels.usable(torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True))
        slow = other.engine("fp32").step(0)
    assert cpu_kernels.usable(torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True))
    torch.testing.assert_close(fast.losses, slow.losses, rtol=1e-6, atol=0)
    torch.testing.assert_close(fast.gradient_norms, slow.gradient_norms, rtol=1e-5, atol=0)
    assert fast_paths.without(job, "bf16") == {}
