"""Kept measurements: what is chosen from step times."""

import json
from dataclasses import replace

import pytest

from glasshouse.training import kept_measurements
from glasshouse.training.kept_measurements import SpeedMeasurement, TimedReplicas, TimedSettings, TimedWithout


def measurement(*times: tuple[str, int, float]) -> SpeedMeasurement:
    timed = tuple(TimedSettings(name, threads, (seconds, seconds, 100.0)) for name, threads, seconds in times)
    return SpeedMeasurement({"threads": "2"}, {}, "2026-11-17", (), 0.5, timed)


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
    best = measurement(*times).fastest()
    assert best is not None
    assert (best.precision, best.threads) == chosen


def test_one_slow_round_does_not_count():
    assert measurement(("fp32", 1, 1.0)).times[0].seconds == 1.0


def test_a_choice_names_its_date_and_all_times():
    kept = measurement(("fp32", 1, 0.5), ("fp32", 2, 0.25))
    best = kept.fastest()
    assert best is not None
    assert kept.reason(best).startswith("fp32 on 2 threads: as measured on 2026-11-17")
    assert "500.0 ms in fp32 on 1 thread and 250.0 ms in fp32 on 2 threads" in kept.reason(best)


def test_other_processes_are_noticed():
    assert not measurement(("fp32", 1, 1.0)).was_busy
    assert SpeedMeasurement({"threads": "2"}, {}, "", (), 1.5, ()).was_busy


@pytest.mark.parametrize(("together", "is_faster"), [(0.5, True), (0.9, False), (1.2, False)])
def test_replicas_must_be_clearly_faster(together, is_faster):
    times = TimedReplicas("fp32", 1, 8, (together, together, 100.0), (1.0, 1.0, 0.001))
    assert times.is_faster is is_faster
    assert f"{together * 1e3:.1f} ms per step and replica with 8 of them, 1000.0 ms alone" in times.text


def test_replicas_are_kept_and_files_without_them_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path))
    kept = replace(measurement(("fp32", 1, 1.0)), replicas=TimedReplicas("fp32", 1, 8, (0.5,), (1.0,)))
    path = kept_measurements.keep(kept)
    assert kept_measurements.read(path) == kept
    table = json.loads(path.read_text())
    path.write_text(json.dumps(table | {"replicas": {**table["replicas"], "alone": []}}))
    assert kept_measurements.read(path) is None
    del table["replicas"]
    path.write_text(json.dumps(table))
    assert kept_measurements.read(path) == replace(kept, replicas=None)


def test_times_without_fast_paths_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path))
    kept = replace(measurement(("fp32", 1, 1.0)), fast_paths=(TimedWithout("kernels for CPUs", (1.5,), (1.0,)),))
    path = kept_measurements.keep(kept)
    assert kept_measurements.read(path) == kept
    table = json.loads(path.read_text())
    table["fast_paths"][0]["taken"] = [-1.0]
    path.write_text(json.dumps(table))
    assert kept_measurements.read(path) is None
