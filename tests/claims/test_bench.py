"""The bench: studies on the seeds of the trial, values of items, filled-in words, step times."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from glasshouse.claims.bench import Bench, StudyPlan
from glasshouse.training import cost_plan
from tests.claims.made_up_claim import MadeUpClaim


def bench_of(folder: Path, *plans: StudyPlan, **options: Any) -> Bench:
    return Bench(folder / "bench", {plan.name: plan for plan in plans}, 1000, 3, device="cpu", **options)


def test_studies_have_the_seeds_of_the_trial(made_up, tmp_path):
    [plan] = MadeUpClaim.studies
    again = replace(plan, name="again", seed_offset=500, most_seeds=2)
    bench = bench_of(tmp_path, plan, again)
    study = bench.study("positions")
    assert list(bench.values(study, "none", "validation.loss").values) == [1000, 1001, 1002]
    assert list(bench.values(bench.study("again"), "none", "validation.loss").values) == [1500, 1501]
    items = bench.item_values(study, "none", "validation", "loss")
    plain = bench.values(study, "none", "validation.loss")
    for seed, value in plain.values.items():
        assert abs(items.values[seed] - value) < 1e-4
        assert abs(sum(items.items[seed]) / len(items.items[seed]) - value) < 1e-4
    assert bench.starts(study, "none").endswith("/none/seed-{seed}")
    assert [run.spec.training.seed for run in bench.finished_runs(study, "none")] == [1000, 1001, 1002]


def test_words_in_braces_are_filled_in_and_recipes_written(tmp_path):
    plan = StudyPlan(
        "fine-tuning",
        ("one", "two", "training.seed={other}", "training.start_from={start}"),
        recipes={"one": ("demo-lm", "model.layers={layers}"), "two": ("demo-lm", "model.layers=3")},
    )
    bench = bench_of(tmp_path, plan)
    bench.folder.mkdir()
    one, two, *rest = bench.words("fine-tuning", layers="2", start="runs/seed-{seed}")
    assert "layers = 2" in Path(one).read_text()
    assert "layers = 3" in Path(two).read_text()
    assert rest == ["training.seed={other}", "training.start_from=runs/seed-{seed}"]


def test_steps_of_all_arms_are_timed_in_rounds_and_cached(made_up, tmp_path, monkeypatch):
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    [plan] = MadeUpClaim.studies
    bench = bench_of(tmp_path, replace(plan, name="times", timed_only=True), quick=True)
    seconds = bench.step_seconds("times")
    assert list(seconds) == ["learned", "none"]
    assert all(len(rounds) == 2 and min(rounds) > 0 for rounds in seconds.values())
    assert bench.step_seconds("times") == seconds
