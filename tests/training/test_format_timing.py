"""Timing of number formats and threads: every setting in every round, on the threads that are named."""

import pytest
import torch

from glasshouse.training import compute_rule, cost_plan, format_timing, kept_measurements
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
    monkeypatch.setattr(compute_rule, "available_threads", lambda: 3)
    monkeypatch.setattr(compute_rule, "times_bf16", lambda: True)
    measurement = format_timing.measure(job, ("demo-lm", "model.width=16"))
    forward = [(name, count) for name in ("fp32", "bf16") for count in (1, 2, 3)]
    assert timed[:6] == forward
    assert timed[6:12] == forward[::-1]
    assert len(timed) == 6 * format_timing.ROUNDS
    assert [(one.precision, one.threads) for one in measurement.times] == forward
    assert all(len(one.rounds) == format_timing.ROUNDS for one in measurement.times)
    assert measurement.words == ("demo-lm", "model.width=16")
    assert measurement.shape == kept_measurements.shape_of(job)


def test_a_format_without_a_kernel_is_left_out(job, monkeypatch):
    def seconds(engine, device):
        if engine.spec.training.precision == "bf16":
            raise RuntimeError(message)
        return 1.0

    message = "pack_vnni2 is only supported when avx512 is supported"
    monkeypatch.setattr(cost_plan, "step_seconds", seconds)
    monkeypatch.setattr(compute_rule, "times_bf16", lambda: True)
    assert {one.precision for one in format_timing.measure(job).times} == {"fp32"}
    message = "shapes cannot be multiplied"
    with pytest.raises(RuntimeError, match="multiplied"):
        format_timing.measure(job)


def test_bf16_is_not_timed_where_it_is_emulated(monkeypatch):
    monkeypatch.setattr(compute_rule, "times_bf16", lambda: False)
    assert format_timing.formats_of(CPU) == ["fp32"]


@pytest.mark.parametrize(("available", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])])
def test_thread_counts_are_powers_of_two_and_all(monkeypatch, available, counts):
    monkeypatch.setattr(compute_rule, "available_threads", lambda: available)
    assert format_timing.thread_counts(CPU) == counts
    assert format_timing.thread_counts(torch.device("cuda")) == [0]
