"""The choice of number format and threads: the same under load, without a clock."""

import subprocess
import sys

import pytest
import torch

from glasshouse.records import machine
from glasshouse.training import compute_choice, devices
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, demo_spec, forbid_clocks

CUDA = torch.device("cuda")
AUTO = ("training.precision=auto", "training.threads=0")


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(machine, "physical_cores", lambda: 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    # The tests' steps are small.
    monkeypatch.setattr(compute_choice, "FLOPS_PER_THREAD", 1e6)


@pytest.fixture
def job(text, four_cores):
    return Job.prepare(demo_spec(text, *AUTO), CPU)


def test_the_choice_does_not_change_under_load_and_reads_no_clock(job, monkeypatch):
    idle = compute_choice.choose(job)
    command = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    hogs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2 * machine.cores())]
    try:
        for hog in hogs:
            assert hog.stdout is not None
            hog.stdout.readline()
        with monkeypatch.context() as patch:
            forbid_clocks(patch)
            busy = [compute_choice.choose(job) for _ in range(10)]
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()
    assert set(busy) == {idle}
    assert "by rule" in idle.reason
    assert idle.threads == 4


def test_every_seed_gets_the_same_choice(job):
    assert len({compute_choice.choose(job.with_training(seed=seed)) for seed in range(5)}) == 1


def test_what_the_spec_sets_is_not_chosen(text, four_cores):
    both = Job.prepare(demo_spec(text, "training.precision=bf16", "training.threads=3"), CPU)
    assert compute_choice.choose(both) == compute_choice.ComputeChoice("bf16", 3)
    threads = compute_choice.choose(Job.prepare(demo_spec(text, "training.precision=bf16", "training.threads=0"), CPU))
    assert (threads.precision, threads.threads) == ("bf16", 4)
    assert threads.reason == "bf16 on 4 threads: by rule (4 cores)"


def have(monkeypatch, *instructions, capability="AVX512", cores=4, limit=64):
    monkeypatch.setattr(machine, "instructions", lambda: frozenset(instructions))
    monkeypatch.setattr(machine, "physical_cores", lambda: cores)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(torch, "get_num_threads", lambda: limit)


@pytest.mark.parametrize(
    ("instructions", "capability", "chosen"),
    [
        ((), "DEFAULT", "fp32"),
        (("avx512f",), "AVX512", "fp32"),
        (("avx512_bf16",), "AVX512", "fp32"),
        (("amx_bf16", "avx512_bf16"), "AVX512", "bf16"),
        (("amx_bf16", "avx512_bf16"), "AVX2", "fp32"),
        (("asimd", "bf16"), "DEFAULT", "bf16"),
    ],
)
def test_a_processor_needs_matrix_instructions_for_bf16(monkeypatch, instructions, capability, chosen):
    have(monkeypatch, *instructions, capability=capability)
    assert compute_choice.precision_by_rule(CPU, compute_choice.CPU_BF16_FLOPS)[0] == chosen
    name, reason = compute_choice.precision_by_rule(CPU, compute_choice.CPU_BF16_FLOPS - 1)
    assert name == "fp32"
    assert ("no bfloat16 matrix instructions" in reason) == (chosen == "fp32")


@pytest.mark.parametrize(
    ("capability", "flops", "chosen"),
    [
        ((7, 5), 1e15, "fp32"),
        ((8, 0), 0, "fp32"),
        ((8, 0), compute_choice.TF32_FLOPS - 1, "fp32"),
        ((8, 0), compute_choice.TF32_FLOPS, "tf32"),
        ((9, 0), compute_choice.BF16_FLOPS - 1, "tf32"),
        ((9, 0), compute_choice.BF16_FLOPS, "bf16"),
    ],
)
def test_on_a_gpu_the_size_of_a_step_decides(monkeypatch, capability, flops, chosen):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert compute_choice.precision_by_rule(CUDA, flops)[0] == chosen


@pytest.mark.parametrize(
    ("per_thread", "cores", "limit", "chosen"),
    [(0, 4, 64, 1), (1.9, 4, 64, 1), (2, 4, 64, 2), (100, 4, 64, 4), (100, 4, 3, 3), (100, 1, 1, 1), (100, 4, 1, 1)],
)
def test_small_steps_get_few_threads_and_large_steps_all_cores(monkeypatch, per_thread, cores, limit, chosen):
    have(monkeypatch, cores=cores, limit=limit)
    assert compute_choice.threads_by_rule(per_thread * compute_choice.FLOPS_PER_THREAD)[0] == chosen


def test_processes_on_one_machine_share_its_cores(monkeypatch):
    have(monkeypatch, cores=8)
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "4"), ("LOCAL_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    assert devices.available_threads() == 2


def test_the_rule_can_be_told_without_a_step(monkeypatch):
    have(monkeypatch)
    assert compute_choice.precisions_text(CPU) == "fp32: this processor has no bfloat16 matrix instructions"
    assert "at most 4" in compute_choice.threads_text()
    have(monkeypatch, "amx_bf16")
    assert compute_choice.precisions_text(CPU).startswith("fp32, bf16 for steps from")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert "tf32 for steps from" in compute_choice.precisions_text(CUDA)
