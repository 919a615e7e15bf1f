"""The claim cpu-gpu: its parts on made-up values, its ratios, and a quick run on a CPU."""

import gzip

import pytest

from glasshouse.claims import trials
from glasshouse.claims.from_scratch import cpu_gpu
from glasshouse.claims.from_scratch.cpu_gpu import CPUAgainstGPU
from glasshouse.results.claim import REFUTED, UNDECIDED, UPHELD
from glasshouse.specs.errors import RunError
from glasshouse.training import cost_plan
from tests.claims.example_values import close_values
from tests.claims.judging import judge
from tests.cli.program import some_text
from tests.refusals import refused


@pytest.mark.parametrize(
    ("ratio", "noise", "expected"),
    [(11.0, 0.5, UPHELD), (100.0, 5.0, REFUTED), (0.5, 0.01, REFUTED), (17.0, 3.0, UNDECIDED)],
)
def test_the_gpu_must_be_as_much_faster_as_reported(ratio, noise, expected):
    values = {"ratio": close_values(ratio, noise), "gain/graph": close_values(2.0, 0.1), "gain/bf16": close_values(0.5, 0.1)}
    assert judge(CPUAgainstGPU, values).verdict == expected


def test_builds_are_compared_with_each_other():
    assert cpu_gpu.ratios([2.0, 3.0], [1.0, 1.5]).values == {0: 2.0, 1: 2.0}


@pytest.fixture
def wikitext(tmp_path, monkeypatch):
    """A made-up text instead of WikiText-2."""
    folder = tmp_path / "data" / "wikitext2"
    folder.mkdir(parents=True)
    for seed, split in enumerate(("train", "valid", "test")):
        (folder / f"wiki.{split}.tokens.gz").write_bytes(gzip.compress(some_text(300, seed).encode()))
    monkeypatch.setenv("GLASSHOUSE_DATA", str(folder.parent))


def test_without_a_gpu_nothing_is_registered(wikitext):
    with refused(RunError):
        trials.try_claim("cpu-gpu", device="cpu")
    assert trials.read_trials("cpu-gpu") == []


@pytest.mark.slow
def test_a_quick_run_on_a_cpu_measures_the_cpu_alone(wikitext, monkeypatch):
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    trial = trials.try_claim("cpu-gpu", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert min(series["seconds/cpu"].values.values()) > 0
    assert set(series["seconds/cpu"].values) == {0, 1}
    assert not any(key.startswith(("seconds/gpu", "share/gpu", "ratio")) for key in series)
    assert sum(values.values[0] for key, values in series.items() if key.startswith("share/cpu")) == pytest.approx(1.0)
    assert trial.finding.verdict == UNDECIDED
