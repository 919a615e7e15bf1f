"""A trained run beside its baselines: in its folder, its page and its object; once for replicas; and never in the way."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glasshouse
from glasshouse.baselines import baseline_cache, linear_models
from glasshouse.baselines.baseline import Baseline
from glasshouse.inspection import held_out_texts
from glasshouse.records import item_values
from glasshouse.runs import baseline_comparison
from glasshouse.runs.run import Run

TINY = {
    "model": {"width": 8, "layers": 1, "heads": 1, "dropout": 0.0, "head": {"hidden": 4}},
    "training": {"epochs": 1, "batch": 8, "threads": 1, "precision": "fp32"},
    "evaluation": {"every": 50},
}


@pytest.fixture
def rows() -> Path:
    file = Path("rows.tsv")
    words = {"warm": "sun heat fire", "cold": "snow ice frost"}
    lines = [(label, words[label].split()[number % 3], number) for number in range(60) for label in words]
    file.write_text("".join(f"{label}\t{word} {number}\n" for label, word, number in lines))
    return file


def train(file: Path, *overrides: str, name: str = "tiny") -> Run:
    return glasshouse.train("classifier", *overrides, name=name, device="cpu", data={"files": [str(file)]}, **TINY)


def test_a_classifier_has_its_baselines_in_folder_page_and_object(rows: Path) -> None:
    run = train(rows)
    results = run.baselines
    assert results is not None
    assert [one.name for one in results.baselines] == [method.name for method in linear_models.CLASSIFIERS]
    best = results.best(run.task.metrics["accuracy"])
    assert best is not None
    assert best.metrics["accuracy"] == 1
    assert results.run["accuracy"] == run.facts["outcome"]["test"]["accuracy"]
    difference = best.difference("accuracy")
    assert difference is not None
    assert difference.difference == pytest.approx(results.run["accuracy"] - 1)
    assert difference.pairs == run.facts["outcome"]["test"]["examples"]
    assert json.loads(run.folder.baselines_file.read_text())["split"] == "test"
    page = run.folder.report_file.read_text()
    assert "Beside the obvious" in page
    assert "naive Bayes over words" in page
    assert "macro F1" in page
    assert "largest class" in page
    assert " is the best baseline on validation." in run._repr_html_()


def test_the_stored_values_are_those_of_the_final_evaluation(rows: Path) -> None:
    run = train(rows)
    for split in ("validation", "test"):
        stored, measured = item_values.read(run.folder, split), run.item_values(split)
        assert stored["accuracy"].mean() == pytest.approx(run.facts["outcome"][split]["accuracy"])
        assert stored["loss"].mean() == pytest.approx(run.facts["outcome"][split]["loss"])
        assert stored["accuracy"].tolist() == measured["accuracy"].tolist()
        assert np.allclose(stored["loss"], measured["loss"], rtol=1e-4)


def test_replicas_and_further_runs_train_the_baselines_once(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The session shares a cache; a line of its own makes these data new.
    rows.write_text(rows.read_text() + "warm\ta line of its own\n")
    written, real = [], baseline_cache.asdict

    def count(baseline: Baseline) -> dict[str, Any]:
        written.append(baseline.name)
        return real(baseline)

    monkeypatch.setattr(baseline_cache, "asdict", count)
    settings = {**TINY, "training": {"epochs": 1, "batch": 8, "threads": 1, "precision": "fp32", "replicas": 2}}
    runs = glasshouse.runs.train_replicas("classifier", name="two", device="cpu", data={"files": [str(rows)]}, **settings)
    train(rows)
    assert [run.baselines is not None for run in runs] == [True, True]
    assert len(written) == len(set(written)) == baseline_cache.TASKS["classify"].count


def test_the_switch_leaves_them_out_and_changes_nothing_else(rows: Path) -> None:
    with_them, without = train(rows), train(rows, "evaluation.baselines=false", name="without")
    assert without.baselines is None
    assert not without.folder.baselines_file.exists()
    assert "Beside the obvious" not in without.folder.report_file.read_text()
    assert without.facts["outcome"]["test"] == with_them.facts["outcome"]["test"]
    assert "baselines" in without.folder.spec_file.read_text()
    assert "baselines" not in with_them.folder.spec_file.read_text()


def test_what_goes_wrong_is_a_line_and_the_run_is_done(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("no features left")

    monkeypatch.setattr(baseline_cache, "load_or_train", fail)
    run = train(rows)
    assert run.folder.status() == "done"
    assert run.baselines is None
    assert "tiny: no baselines: no features left" in capsys.readouterr().err
    assert run.folder.report_file.exists()


def test_a_report_adds_baselines_that_are_missing_and_says_why_it_cannot(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(rows)
    before = run.baselines
    run.folder.baselines_file.unlink()
    glasshouse.report("tiny", device="cpu")
    assert run.baselines == before
    run.folder.baselines_file.unlink()
    rows.write_text(rows.read_text() + "warm\tnew\n")
    glasshouse.report("tiny", device="cpu")
    assert run.baselines is None
    assert "has changed since the run was trained" in capsys.readouterr().err


def test_values_that_were_not_stored_are_measured_again(rows: Path) -> None:
    run = train(rows)
    stored = run.baselines
    shutil.rmtree(run.folder.path / "item_values")
    assert baseline_comparison.compute(run) == stored


def test_a_report_keeps_its_confusion_matrix_when_the_data_have_moved(rows: Path) -> None:
    run = train(rows)
    errors = held_out_texts.confusion(run)
    assert errors is not None
    assert errors.confusion is not None
    rows.unlink()
    glasshouse.report("tiny", device="cpu")
    page = run.folder.report_file.read_text()
    assert "Confusion matrix" in page
    assert "Beside the obvious" in page
    assert errors.errors is None or all(row[0] in page for row in errors.errors.rows)
    run.folder.confusion_file.unlink()
    again = held_out_texts.confusion(run)
    assert again is not None
    assert again.confusion is not None
    assert again.confusion.counts == errors.confusion.counts
    assert "no texts of errors" in again.notes[0]


def test_a_language_model_has_an_ngram_model_and_a_compressor() -> None:
    text = Path("text.txt")
    text.write_text("".join(f"The state of our union in year {year} is strong, and we keep it so.\n" for year in range(900)))
    settings = {**TINY, "model": {"width": 8, "layers": 1, "heads": 1}, "training": {"steps": 2, "threads": 1}}
    data = {"files": [str(text)], "vocabulary": 300, "context": 16}
    run = glasshouse.train("language-model", name="lm", device="cpu", data=data, **settings)
    results = run.baselines
    assert results is not None
    assert [one.name for one in results.baselines] == ["n-gram", "xz"]
    assert results.metric == "bits_per_byte"
    ngram = results.baselines[0]
    difference = ngram.difference("loss")
    assert difference is not None
    assert difference.difference == pytest.approx(results.run["loss"] - ngram.metrics["loss"])
    assert difference.pairs > 0
