"""The choice of number format and threads: the same under load, without a clock, and from kept measurements."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from glasshouse.records import machine
from glasshouse.training import compute_choice, compute_rule, kept_measurements
from glasshouse.training.job import Job
from glasshouse.training.kept_measurements import SpeedMeasurement, TimedSettings
from tests.training.small_runs import CPU, demo_spec, forbid_clocks

AUTO = ("training.precision=auto", "training.threads=0")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(machine, "physical_cores", lambda: 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    # The tests' steps are small.
    monkeypatch.setattr(compute_rule, "FLOPS_PER_THREAD", 1e6)


@pytest.fixture
def job(text, four_cores):
    return Job.prepare(demo_spec(text, *AUTO), CPU)


def measured(job, **seconds):
    """A measurement of a job, with the seconds of each setting: fp32_2=0.5 is float32 on two threads."""
    times = []
    for name, value in seconds.items():
        precision, threads = name.split("_")
        times.append(TimedSettings(precision, int(threads), (value,) * 3))
    return SpeedMeasurement(
        kept_measurements.machine_of(CPU), kept_measurements.shape_of(job), "2026-11-17", ("demo-lm",), 0.0, tuple(times)
    )


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
    assert len({compute_choice.choose(job.with_seed(seed)) for seed in range(5)}) == 1


def test_what_the_spec_sets_is_not_chosen(text, four_cores):
    both = Job.prepare(demo_spec(text, "training.precision=bf16", "training.threads=3"), CPU)
    assert compute_choice.choose(both) == compute_choice.ComputeChoice("bf16", 3)
    threads = compute_choice.choose(Job.prepare(demo_spec(text, "training.precision=bf16", "training.threads=0"), CPU))
    assert (threads.precision, threads.threads) == ("bf16", 4)
    assert threads.reason == "bf16 on 4 threads: by rule (4 cores)"


def test_a_kept_measurement_goes_before_the_rule(job):
    kept_measurements.keep(measured(job, fp32_1=1.0, fp32_4=2.0))
    choice = compute_choice.choose(job)
    assert (choice.precision, choice.threads, choice.remark) == ("fp32", 1, "")
    assert choice.reason.startswith("fp32 on 1 thread: as measured on 2026-11-17 (glasshouse doctor --measure)")
    kept_measurements.keep(measured(job, fp32_1=2.0, fp32_4=1.0))
    assert compute_choice.choose(job).threads == 4, "a later measurement replaces an earlier one"
    fixed = replace(job, spec=replace(job.spec, training=replace(job.spec.training, threads=1)))
    assert compute_choice.choose(fixed).threads == 1
    unmeasured = replace(job, spec=replace(job.spec, training=replace(job.spec.training, threads=3)))
    assert "by rule" in compute_choice.choose(unmeasured).reason


def test_a_measurement_of_another_shape_or_machine_is_not_used(job, text, monkeypatch):
    kept_measurements.keep(measured(job, fp32_1=1.0, fp32_4=2.0))
    wider = Job.prepare(demo_spec(text, *AUTO, "model.width=32"), CPU)
    assert "by rule" in compute_choice.choose(wider).reason
    other_seed = Job.prepare(demo_spec(text, *AUTO, "training.seed=5", "training.learning_rate=0.1"), CPU)
    assert "as measured" in compute_choice.choose(other_seed).reason
    path = kept_measurements.file_of(kept_measurements.machine_of(CPU), kept_measurements.shape_of(job))
    monkeypatch.setattr(machine, "processor", lambda: "another processor")
    elsewhere = compute_choice.choose(job)
    assert "by rule" in elsewhere.reason
    assert not elsewhere.remark
    renamed = kept_measurements.file_of(kept_measurements.machine_of(CPU), kept_measurements.shape_of(job))
    path.rename(renamed)
    copied = compute_choice.choose(job)
    assert "by rule" in copied.reason
    assert "another machine" in copied.remark


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"times": 3}', b"null", b'{"machine": {}, "shape": {}, "times": []}']
)
def test_a_damaged_measurement_is_ignored_with_a_remark(job, content):
    path = kept_measurements.keep(measured(job, fp32_1=1.0, fp32_4=2.0))
    path.write_bytes(content)
    choice = compute_choice.choose(job)
    assert "by rule" in choice.reason
    assert "damaged" in choice.remark
    assert "glasshouse doctor --measure" in choice.remark


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_times_are_damage(job, seconds):
    kept_measurements.keep(measured(job, fp32_1=seconds, fp32_4=2.0))
    assert "damaged" in compute_choice.choose(job).remark
