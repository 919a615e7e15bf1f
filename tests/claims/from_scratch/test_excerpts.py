"""Excerpts for quick runs: the beginning of a text, and a bench whose study trains on it."""

from glasshouse.claims.bench import Bench, StudyPlan
from glasshouse.claims.from_scratch import excerpts

PLAN = StudyPlan("texts", ("demo-lm", "training.steps=9,1"), quick=("model.layers=1",))


def test_a_quick_bench_trains_on_an_excerpt(tmp_path, monkeypatch):
    monkeypatch.setattr(excerpts, "SIZE", 500)
    bench = Bench(tmp_path / "trial", {"texts": PLAN}, 0, 2, quick=True)
    words = excerpts.with_excerpt(bench, "texts", "state-of-the-union", ("demo-lm", "training.steps=2,1")).words("texts")
    excerpt = tmp_path / "trial" / "excerpt.txt"
    assert words == ("demo-lm", "training.steps=2,1", f"data.files=[{excerpt}]", "model.layers=1")
    assert len(excerpt.read_text()) == 500
    assert excerpts.with_excerpt(bench, "texts", "state-of-the-union").words("texts")[:2] == PLAN.words


def test_a_whole_trial_trains_on_the_whole_text(tmp_path):
    bench = Bench(tmp_path / "trial", {"texts": PLAN}, 0, 2)
    assert excerpts.with_excerpt(bench, "texts", "state-of-the-union", ("demo-lm",)) is bench
    assert not (tmp_path / "trial").exists()
