"""The rule for number format and threads: what it says of each kind of machine."""

import pytest
import torch

from glasshouse.records import machine
from glasshouse.training import compute_rule
from tests.training.small_runs import CPU

CUDA = torch.device("cuda")


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
    assert compute_rule.precision(CPU, compute_rule.CPU_BF16_FLOPS)[0] == chosen
    name, reason = compute_rule.precision(CPU, compute_rule.CPU_BF16_FLOPS - 1)
    assert name == "fp32"
    assert ("no bfloat16 matrix instructions" in reason) == (chosen == "fp32")


@pytest.mark.parametrize(
    ("capability", "flops", "chosen"),
    [
        ((7, 5), 1e15, "fp32"),
        ((8, 0), 0, "fp32"),
        ((8, 0), compute_rule.TF32_FLOPS - 1, "fp32"),
        ((8, 0), compute_rule.TF32_FLOPS, "tf32"),
        ((9, 0), compute_rule.BF16_FLOPS - 1, "tf32"),
        ((9, 0), compute_rule.BF16_FLOPS, "bf16"),
    ],
)
def test_on_a_gpu_the_size_of_a_step_decides(monkeypatch, capability, flops, chosen):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert compute_rule.precision(CUDA, flops)[0] == chosen


@pytest.mark.parametrize(
    ("per_thread", "cores", "limit", "chosen"),
    [(0, 4, 64, 1), (1.9, 4, 64, 1), (2, 4, 64, 2), (100, 4, 64, 4), (100, 4, 3, 3), (100, 1, 1, 1), (100, 4, 1, 1)],
)
def test_small_steps_get_few_threads_and_large_steps_all_cores(monkeypatch, per_thread, cores, limit, chosen):
    have(monkeypatch, cores=cores, limit=limit)
    assert compute_rule.threads(per_thread * compute_rule.FLOPS_PER_THREAD)[0] == chosen


def test_processes_on_one_machine_share_its_cores(monkeypatch):
    have(monkeypatch, cores=8)
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "4"), ("LOCAL_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    assert compute_rule.available_threads() == 2


def test_the_rule_can_be_told_without_a_step(monkeypatch):
    have(monkeypatch)
    assert compute_rule.precisions_text(CPU) == "fp32: this processor has no bfloat16 matrix instructions"
    assert "at most 4" in compute_rule.threads_text()
    have(monkeypatch, "amx_bf16")
    assert compute_rule.precisions_text(CPU).startswith("fp32, bf16 for steps from")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    assert "tf32 for steps from" in compute_rule.precisions_text(CUDA)
