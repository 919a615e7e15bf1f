"""A pulse for `glasshouse evaluate --metric entailment`: a translator and its judge, trained a little."""

import json
from pathlib import Path

import pytest

from .program import SMALL, call, refused, worked

TINY = tuple(part for part in SMALL if not part.startswith("data."))


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


def test_translations_are_judged(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(trained))
    how = ("evaluate", "writer", "--metric", "entailment", "--examples", "8", "--device", "cpu")
    out = worked(call(*how, "--judge", "judge")).out
    for words in ("BLEU", "chrF", "entailed both ways", "meaning kept", "Pearson", "Spearman", "reworded", "judge is right"):
        assert words in out
    found = json.loads(worked(call(*how, "--judge", str(trained / "judge"), "--json")).out)
    assert found["test"]["translated"] == 8
    assert 0 <= found["test"]["entailment"] <= 1
    assert found["validation"]["outputs.swapped"] == 8


def test_a_judge_must_be_one(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(trained))
    asked = ("evaluate", "writer", "--device", "cpu", "--metric", "entailment")
    refused(call(*asked), "metric-without-judge")
    refused(call(*asked, "--judge", "other"), "not-a-judge")
    refused(call(*asked, "--judge", "nobody"), "unknown-run")
    refused(call("evaluate", "writer", "--metric", "rouge"), "unknown-metric", "metric='rouge'")
    refused(call("evaluate", "judge", "--metric", "entailment", "--judge", "judge"), "not-a-translator")
