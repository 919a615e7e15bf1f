"""The bench: step times."""

from glasshouse.claims.bench import Bench
from glasshouse.training import cost_plan
from tests.claims.made_up_claim import ARMS, TINY, MadeUpClaim


def test_steps_of_all_arms_are_timed_in_rounds_and_cached(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    bench = Bench(tmp_path / "bench", seeds=2, quick=True, device="cpu")
    words = ("language-model", *TINY, f"data.files={MadeUpClaim.text}", ARMS)
    seconds = bench.step_seconds("times", *words)
    assert list(seconds) == ["learned", "none"]
    assert all(len(rounds) == 2 and min(rounds) > 0 for rounds in seconds.values())
    assert bench.step_seconds("times", *words) == seconds
