"""A pulse of `glasshouse debate`: the table, the files, a judge that is added, a killed debate, and the refusals."""

import json
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, RunError

from .program import TWO_STEPS, call, refused, train, worked

DEBATE = ("debate", "self-driving cars", "--points", "1", "--max-tokens", "8", "--device", "cpu")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A folder of two very small language models."""
    folder = tmp_path_factory.mktemp("runs")
    text = folder / "text.txt"
    text.write_text("self-driving cars are safe. they are not safe. " * 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        for name in ("tiny", "other"):
            worked(train(*TWO_STEPS, f"data.files={text}", "data.vocabulary=270", name=name))
    return folder


@pytest.fixture
def tiny(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(trained))


@pytest.mark.usefixtures("tiny")
def test_two_runs_debate_and_a_judge_is_added() -> None:
    asked = (*DEBATE, "--models", "run:tiny,run:other", "--rounds", "1", "--temperatures", "0.5,1.5", "--output", "out")
    shown = worked(call(*asked)).out
    assert "repetition" in shown
    assert "rough stand-in" in shown
    assert "wins" not in shown
    journal = Path("out/debate.jsonl")
    # A header, four points at each of two temperatures, and four control points.
    before = journal.read_text().splitlines()
    assert len(before) == 1 + 2 * 4 + 4
    assert "For and against self-driving cars" in Path("out/debate.html").read_text()
    measures = json.loads(Path("out/measures.json").read_text())
    assert measures["models"]["run:tiny"]["points"] == 4
    # Killed in the middle: the same command continues, and a judge can be added to it.
    journal.write_text("\n".join(before[:6]) + '\n{"kind": "po')
    shown = worked(call(*asked, "--judge", "run:tiny")).out
    after = journal.read_text().splitlines()
    assert [without_seconds(line) for line in after[: len(before)]] == [without_seconds(line) for line in before]
    assert (
        sum(json.loads(line).get("kind") == "verdict" for line in after)
        == json.loads(Path("out/measures.json").read_text())["judge"]["verdicts"]
    )
    assert "wins" in shown
    assert "verdicts could be read" in shown
    refused(call(*asked, "--seed", "1"), GlasshouseError, "seed=0")


def without_seconds(line: str) -> dict[str, object]:
    return {name: value for name, value in json.loads(line).items() if name != "seconds"}


@pytest.mark.usefixtures("tiny")
def test_bad_input_is_refused_before_anything_is_written() -> None:
    models = ("--models", "run:tiny")
    refused(call("debate", "trams", "--models", " , "), GlasshouseError)
    refused(call("debate", " ", *models), GlasshouseError)
    refused(call("debate", "trams", *models, "--points", "0"), GlasshouseError, "points=0")
    refused(call("debate", "trams", *models, "--rounds", "-1"), GlasshouseError, "rounds=-1")
    refused(call("debate", "trams", *models, "--temperatures", "0.2,hot"), GlasshouseError, "hot")
    refused(call("debate", "trams", *models, "--temperatures", "-1"), GlasshouseError)
    refused(call("debate", "trams", *models, "--control-topic", "a tram"), GlasshouseError)
    refused(call("debate", "trams", "--models", "run:tiny,run:missing"), RunError, "missing")
    refused(call("debate", "trams", "--models", "run:tiny,run:tiny"), GlasshouseError)
    refused(call("debate", "trams", *models, "--judge", "run:tiny"), GlasshouseError)
    refused(call("debate", "trams", *models, "--entailment", "tiny"), GlasshouseError)
    Path("file.txt").write_text("")
    refused(call("debate", "trams", *models, "--output", "file.txt"), GlasshouseError)
    assert not Path("debates").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_an_entailment_model_finds_the_contradictions_of_a_debate() -> None:
    labels = ("entailment", "neutral", "contradiction")
    rows = [{"text": f"a star.\n{number} stars.", "label": labels[number % 3]} for number in range(60)]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = ("data.source=", "data.files=pairs.jsonl", "data.vocabulary=262", "training.epochs=0")
    worked(train(*TWO_STEPS, *fields, name="judge", recipe="scene-entailment"))
    measured = ("--entailment", "judge", "--control-topic", "")
    shown = worked(call(*DEBATE, "--models", "run:tiny", *measured)).out
    assert "the entailment model judge" in shown
    assert "may be unreliable" in shown
