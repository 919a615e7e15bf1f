"""Timing of number formats and threads: every setting in every round, on the threads that are named."""

import pytest
import torch

from glasshouse import cpu_kernels
from glasshouse.cpu_kernels import row_kernel
from glasshouse.training import compute_choice, cost_plan, devices, format_timing
from glasshouse.training.format_timing import SpeedMeasurement, TimedSettings
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, demo_spec


@pytest.fixture
def job(text):
    return Job.prepare(demo_spec(text, "training.precision=auto", "training.threads=0"), CPU)


def test_every_setting_is_timed_in_every_round_in_alternating_order(job, monkeypatch):
    timed = []

    def seconds(engine, device):
        timed.append((engine.spec.training.precision, torch.get_num_threads()))
        return 0.25 * len(timed)

    monkeypatch.setattr(cost_plan, "step_seconds", seconds)
    monkeypatch.setattr(devices, "available_threads", lambda: 3)
    monkeypatch.setattr(compute_choice, "times_bf16", lambda: True)
    measurement = format_timing.measure(job)
    forward = [(name, count) for name in ("fp32", "bf16") for count in (1, 2, 3)]
    assert timed[:6] == forward
    assert timed[6:12] == forward[::-1]
    assert len(timed) == (6 + 2) * format_timing.ROUNDS
    assert [(one.precision, one.threads) for one in measurement.times] == forward
    assert all(len(one.rounds) == format_timing.ROUNDS for one in measurement.times)


def test_a_format_without_a_kernel_is_left_out(job, monkeypatch):
    def seconds(engine, device):
        if engine.spec.training.precision == "bf16":
            raise RuntimeError(message)
        return 1.0

    message = "pack_vnni2 is only supported when avx512 is supported"
    monkeypatch.setattr(cost_plan, "step_seconds", seconds)
    monkeypatch.setattr(compute_choice, "times_bf16", lambda: True)
    assert {one.precision for one in format_timing.measure(job).times} == {"fp32"}
    message = "shapes cannot be multiplied"
    with pytest.raises(RuntimeError, match="multiplied"):
        format_timing.measure(job)


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ([("fp32", 1, 1.0), ("fp32", 2, 0.9)], ("fp32", 1)),
        ([("fp32", 1, 1.0), ("fp32", 2, 0.8)], ("fp32", 2)),
        ([("fp32", 1, 1.0), ("fp32", 2, 0.9), ("fp32", 4, 0.8)], ("fp32", 4)),
        ([("fp32", 1, 1.0), ("bf16", 1, 0.9)], ("fp32", 1)),
        ([("fp32", 1, 1.0), ("bf16", 1, 0.5)], ("bf16", 1)),
        ([("fp32", 1, 1.0), ("fp32", 2, 0.6), ("bf16", 1, 0.8), ("bf16", 2, 0.55)], ("fp32", 2)),
        ([("fp32", 0, 3.0), ("tf32", 0, 2.0), ("bf16", 0, 1.9)], ("tf32", 0)),
        ([("fp32", 0, 3.0), ("tf32", 0, 2.0), ("bf16", 0, 1.0)], ("bf16", 0)),
        ([("fp32", 0, 3.0), ("tf32", 0, 2.9), ("bf16", 0, 2.8)], ("fp32", 0)),
    ],
)
def test_more_threads_and_less_precise_formats_must_be_clearly_faster(times, chosen):
    timed = [TimedSettings(name, threads, (seconds, seconds, 100.0)) for name, threads, seconds in times]
    best = format_timing.fastest_of(timed)
    assert (best.precision, best.threads) == chosen


def test_other_processes_are_noticed(monkeypatch):
    monkeypatch.setattr(devices, "available_threads", lambda: 2)
    one = TimedSettings("fp32", 1, (1.0,))
    assert not SpeedMeasurement((one,), one, 0.5, "").was_busy
    assert SpeedMeasurement((one,), one, 1.5, "").was_busy


def test_bf16_is_not_timed_where_it_is_emulated(monkeypatch):
    monkeypatch.setattr(compute_choice, "times_bf16", lambda: False)
    assert format_timing.formats_of(CPU) == ["fp32"]


@pytest.mark.parametrize(("available", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_thread_counts_are_powers_of_two_and_all(monkeypatch, available, counts):
    monkeypatch.setattr(devices, "available_threads", lambda: available)
    assert format_timing.thread_counts(CPU) == counts
    assert format_timing.thread_counts(torch.device("cuda")) == [0]


def test_steps_are_timed_with_and_without_a_fast_path_in_turn(job, monkeypatch):
    def seconds(engine, device):
        with_kernels = cpu_kernels.usable(torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True))
        return 1.0 if with_kernels else 1.5

    monkeypatch.setattr(cost_plan, "step_seconds", seconds)
    monkeypatch.setattr(compute_choice, "times_bf16", lambda: False)
    assert format_timing.measure(job).without == "kernels for CPUs: 1000.0 ms with, 1500.0 ms without (1.50 times)"


def test_what_is_missing_is_named_with_its_reason(monkeypatch):
    monkeypatch.setattr(row_kernel, "_openmp", lambda: (None, 0, 0))
    monkeypatch.setattr(compute_choice, "times_bf16", lambda: False)
    monkeypatch.setattr(format_timing, "COMPILERS", ("no-such-compiler",))
    described = format_timing.fast_paths(CPU)
    assert described["kernels for CPUs"] == "yes, in fp32, in one thread: torch has no GNU OpenMP here"
    assert described["bfloat16 products"].startswith("no: ")
    assert described["training.compile=true"] == "no: it needs one of no-such-compiler"
    assert format_timing.fast_paths(torch.device("mps")) == {}


def test_a_step_without_the_kernels_gives_the_same_loss(text):
    job = Job.prepare(demo_spec(text, "model.width=64", "training.batch=16", "data.context=32"), CPU)
    variant = format_timing.without_fast_path(job, "fp32")
    assert variant is not None
    _, other, context = variant
    fast = job.engine("fp32").step(0)
    with context:
        assert not cpu_kernels.usable(torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True))
        slow = other.engine("fp32").step(0)
    assert cpu_kernels.usable(torch.zeros(cpu_kernels.LEAST_NUMBERS, requires_grad=True))
    torch.testing.assert_close(fast.losses, slow.losses, rtol=1e-6, atol=0)
    torch.testing.assert_close(fast.gradient_norms, slow.gradient_norms, rtol=1e-5, atol=0)
    assert format_timing.without_fast_path(job, "bf16") is None
