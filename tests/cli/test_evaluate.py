"""`glasshouse evaluate`, also with `--metric entailment`: a translator and its judge, trained for two steps."""

import json
import shutil
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, RunError

from .program import (
    SMALL,
    call,
    refused,
    some_text,
    worked,
)
from .study_commands import TINY

# Options of very small models without those for data.
TINY_MODEL = tuple(option for option in SMALL if not option.startswith("data."))


def test_evaluate(run: Path) -> None:
    shown = worked(call("evaluate", "tiny")).out
    for words in ("validation", "test", "perplexity", "bits per byte"):
        assert words in shown


def test_evaluate_json_agrees_with_the_record(run: Path) -> None:
    metrics = json.loads(worked(call("evaluate", "tiny", "--json", "--device", "cpu")).out)
    recorded = json.loads((run / "run.json").read_text())["outcome"]
    assert set(metrics) == {"validation", "test"}
    for split, values in metrics.items():
        assert values["loss"] == pytest.approx(recorded[split]["loss"], rel=1e-6)


def test_evaluate_data(run: Path) -> None:
    Path("other.txt").write_text(some_text(200, seed=3))
    metrics = json.loads(worked(call("evaluate", "tiny", "--data", "other.txt", "--json")).out)
    assert metrics["other.txt"]["bytes"] == Path("other.txt").stat().st_size
    assert metrics["other.txt"]["texts_in_train"] == 0
    assert "other.txt" in worked(call("evaluate", "tiny", "--data", "other.txt")).out


def test_texts_that_the_run_was_trained_on_are_counted_and_warned_of(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(trained))
    new = "".join(f"{label}\tit was {label}, said {number}\n" for number in range(5) for label in ("ba", "do"))
    (tmp_path / "new.tsv").write_text(new)
    (tmp_path / "old.tsv").write_text((trained / "rows.tsv").read_text() + new)
    asked = ("evaluate", "other", "--json", "--device", "cpu", "--data")
    fresh = worked(call(*asked, str(tmp_path / "new.tsv")))
    assert "warning" not in fresh.err
    found = json.loads(fresh.out)[str(tmp_path / "new.tsv")]
    assert (found["texts"], found["texts_in_train"], found["texts_in_validation"]) == (10, 0, 0)
    shown = worked(call(*asked, str(tmp_path / "old.tsv")))
    found = json.loads(shown.out)[str(tmp_path / "old.tsv")]
    assert found["texts"] == 90
    assert 0 < found["texts_in_validation"] < found["texts_in_train"] < 80 - found["texts_in_validation"]
    assert f"{found['texts_in_train']:,.0f} of its 90 texts are in the run's training data" in shown.err


def test_a_file_is_not_compared_with_data_that_have_changed(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(tmp_path))
    shutil.copytree(trained / "other", tmp_path / "other")
    spec, rows = tmp_path / "other" / "spec.toml", trained / "rows.tsv"
    spec.write_text(spec.read_text().replace(str(rows), str(tmp_path / "gone.tsv")))
    for content, reason in ((None, "no longer be read"), ("ba\tanother text\ndo\tand one more\n" * 20, "have changed")):
        if content:
            (tmp_path / "gone.tsv").write_text(content)
        shown = worked(call("evaluate", "other", "--data", str(rows), "--json", "--device", "cpu"))
        assert reason in shown.err
        assert "texts_in_train" not in json.loads(shown.out)[str(rows)]


def test_evaluate_finds_a_run_by_its_folder(finished: Path) -> None:
    worked(call("evaluate", str(finished)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A folder of a translator, a judge, and a classifier of other things."""
    folder = tmp_path_factory.mktemp("runs")
    rows, pairs = folder / "rows.tsv", folder / "pairs.jsonl"
    rows.write_text("".join(f"{label}\tit is {label} number {number}\n" for number in range(40) for label in ("ba", "do")))
    labels = ("entailment", "neutral", "contradiction")
    made = [{"text": f"a star.\n{number} stars.", "label": labels[number % 3]} for number in range(60)]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in made))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        steps = (*TINY, "training.steps=2", "training.epochs=0", "evaluation.every=2", "--device", "cpu")
        worked(call("train", "scene-translator", *steps, "--name", "writer"))
        worked(call("train", "scene-entailment", "data.source=", f"data.files={pairs}", *steps, "--name", "judge"))
        worked(call("train", "classifier", f"data.files={rows}", *steps, "--name", "other"))
    return folder


@pytest.mark.slow
def test_translations_are_judged(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(trained))
    how = ("evaluate", "writer", "--metric", "entailment", "--examples", "8", "--device", "cpu")
    out = worked(call(*how, "--judge", "judge")).out
    for words in ("BLEU", "chrF", "entailed both ways", "meaning kept", "Pearson", "Spearman", "reworded", "judge accuracy"):
        assert words in out
    found = json.loads(worked(call(*how, "--judge", str(trained / "judge"), "--json")).out)
    assert found["test"]["translated"] == 8
    assert 0 <= found["test"]["entailment"] <= 1
    assert found["validation"]["outputs.swapped"] == 8


def test_a_judge_must_be_one(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(trained))
    asked = ("evaluate", "writer", "--device", "cpu", "--metric", "entailment")
    refused(call(*asked), GlasshouseError)
    refused(call(*asked, "--judge", "other"), GlasshouseError)
    refused(call(*asked, "--judge", "nobody"), RunError)
    refused(call("evaluate", "writer", "--metric", "rouge"), GlasshouseError, "--metric=rouge")
    refused(call("evaluate", "judge", "--metric", "entailment", "--judge", "judge"), GlasshouseError)
