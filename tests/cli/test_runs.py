"""`glasshouse runs`: the list, differences, new names and deletion."""

import json
import re
import shutil
from pathlib import Path

import pytest

import glasshouse
from glasshouse.records import lock
from glasshouse.specs.errors import GlasshouseError, RunError

from .program import (
    call,
    change_facts,
    folders,
    refused,
    worked,
)


@pytest.fixture
def three(run: Path) -> Path:
    """The runs folder with three runs: tiny, wide (another width, a lower loss) and damaged."""
    wide = shutil.copytree(run, run.parent / "wide")
    spec = (wide / "spec.toml").read_text()
    (wide / "spec.toml").write_text(spec.replace("width = 16", "width = 32"))
    outcome = json.loads((run / "run.json").read_text())["outcome"]
    change_facts(wide, outcome={**outcome, "validation": {**outcome["validation"], "loss": 1.0}}, created=0)
    shutil.copytree(run, run.parent / "damaged")
    for file in ("run.json", "spec.toml"):
        (run.parent / "damaged" / file).write_text("{")
    return run.parent


def names(*options: str) -> list[str]:
    return [run["name"] for run in json.loads(worked(call("runs", "--json", *options)).out)]


def test_runs(run: Path) -> None:
    shown = worked(call("runs")).out
    assert re.search(r"tiny\s+done\s+8\s", shown)


def test_runs_without_any(runs: Path) -> None:
    assert "glasshouse demo" in worked(call("runs")).out
    assert json.loads(worked(call("runs", "--json", "--sort", "date")).out) == []


@pytest.mark.usefixtures("three")
def test_the_list_is_sorted() -> None:
    assert names("--sort", "name") == ["damaged", "tiny", "wide"]
    assert names("--sort", "-name") == ["wide", "tiny", "damaged"]
    assert names("--sort", "validation.loss") == names("--sort", "loss") == ["wide", "tiny", "damaged"]
    assert names("--sort", "-model.width") == ["wide", "tiny", "damaged"], "a run without the field comes last"
    assert [run.name for run in glasshouse.runs.runs_overview("-date")][:2] == ["tiny", "wide"]
    refused(call("runs", "--sort", "model.widht"), GlasshouseError, "model.width")


@pytest.mark.usefixtures("three")
def test_the_list_is_filtered() -> None:
    assert names("--filter", "model.width=32") == ["wide"]
    assert names("--filter", "model.width=32.0") == ["wide"]
    assert names("--filter", "model.width>8", "--filter", "loss>1") == ["tiny"]
    assert names("--filter", "status=damaged") == ["damaged"]
    assert names("--filter", "date<2000-01-01") == ["wide"]
    assert names("--filter", "date>2000-01-01") == ["tiny"]
    assert names("--filter", "task=next-token", "--sort", "name") == ["tiny", "wide"]
    assert "with these values" in worked(call("runs", "--filter", "name=none")).out
    refused(call("runs", "--filter", "model.width"), GlasshouseError)
    refused(call("runs", "--filter", "model.width>wide"), GlasshouseError, "wide")
    refused(call("runs", "--filter", "widht=3"), GlasshouseError)


@pytest.mark.usefixtures("three")
def test_two_runs_are_compared() -> None:
    shown = worked(call("runs", "diff", "tiny", "wide")).out
    assert re.search(r"model\.width\s+16\s+32\s", shown)
    assert "validation.loss" in shown
    assert "training.steps" not in shown
    found = json.loads(worked(call("runs", "diff", "tiny", "wide", "--json")).out)
    assert found["fields"] == {"model.width": [16, 32]}
    assert found["metrics"]["validation.loss"][1] == 1.0
    assert "equal" in worked(call("runs", "diff", "tiny", "tiny")).out
    refused(call("runs", "diff", "tiny", "damaged"), GlasshouseError)
    refused(call("runs", "diff", "tiny", "none"), RunError)


def test_a_run_gets_another_name(three: Path) -> None:
    worked(call("runs", "rename", "tiny", "small"))
    assert folders(three) == ["damaged", "small", "wide"]
    assert "step" in worked(call("resume", "small", "--device", "cpu")).err
    assert "--name" not in refused(call("runs", "rename", "small", "wide"), RunError, "wide"), "rename has no such option"
    refused(call("runs", "rename", "small", "../small"), RunError)
    refused(call("runs", "rename", "../runs/small", "other"), RunError)
    refused(call("runs", "rename", "tiny", "other"), RunError)


def test_a_report_with_the_old_name_is_told(three: Path) -> None:
    worked(call("report", "tiny", "--device", "cpu"))
    assert "glasshouse report small" in worked(call("runs", "rename", "tiny", "small")).err
    worked(call("report", "small", "--device", "cpu"))
    worked(call("pack", "small"))
    assert "glasshouse report" not in worked(call("runs", "delete", "small", "--yes")).err
    assert "glasshouse report" not in worked(call("unpack", "small.tar.gz")).err
    assert "glasshouse report copy" in worked(call("unpack", "small.tar.gz", "--name", "copy")).err


def test_runs_that_were_made_together_learn_the_new_name(three: Path) -> None:
    change_facts(three / "tiny", family=["tiny", "wide"], together=[".", "../wide"])
    change_facts(three / "wide", family=["tiny", "wide"], together=["../tiny", "."])
    worked(call("runs", "rename", "tiny", "small"))
    small, wide = (json.loads((three / name / "run.json").read_text()) for name in ("small", "wide"))
    assert small["family"] == wide["family"] == ["small", "wide"]
    assert (small["together"], wide["together"]) == ([".", "../wide"], ["../small", "."])


def test_runs_are_deleted_after_a_question(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(call("runs", "delete", "tiny"), GlasshouseError, "--yes")
    assert "tiny" in folders(three)
    worked(call("runs", "delete", "tiny", "damaged", "tiny", "--yes"))
    assert folders(three) == ["wide"]
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda question: False)
    assert call("runs", "delete", "wide").code == 1
    assert folders(three) == ["wide"]
    monkeypatch.setattr("typer.confirm", lambda question: True)
    worked(call("runs", "delete", "wide"))
    assert folders(three) == []


def test_all_runs_stay_if_one_cannot_be_deleted(three: Path) -> None:
    refused(call("runs", "delete", "wide", "none", "--yes"), RunError)
    refused(call("runs", "delete", "wide", "../runs/tiny", "--yes"), RunError)
    with lock.hold(three / "tiny", ""):
        refused(call("runs", "delete", "wide", "tiny", "--yes"), RunError)
        refused(call("runs", "rename", "tiny", "other"), RunError)
    (three / "other").mkdir()
    refused(call("runs", "delete", "wide", "other", "--yes"), GlasshouseError)
    assert {"wide", "tiny", "other"} <= set(folders(three))


def test_links_are_not_followed(three: Path, tmp_path: Path) -> None:
    outside = shutil.copytree(three / "tiny", tmp_path / "outside")
    (three / "link").symlink_to(outside)
    refused(call("runs", "delete", "link", "--yes"), RunError)
    refused(call("runs", "rename", "link", "other"), RunError)
    refused(call("runs", "delete", "outside", "--yes"), RunError)
    (three / "tiny" / "checkpoints" / "link").symlink_to(outside)
    worked(call("runs", "delete", "tiny", "--yes"))
    assert (outside / "spec.toml").exists()


def test_a_run_that_another_starts_from_is_told(three: Path) -> None:
    spec = (three / "wide" / "spec.toml").read_text()
    start = f'start_from = "{three / "tiny"}"'
    assert "[training]\n" in spec
    (three / "wide" / "spec.toml").write_text(
        re.sub(r"start_from = .*\n", "", spec).replace("[training]\n", f"[training]\n{start}\n")
    )
    assert "wide" in worked(call("runs", "delete", "tiny", "--yes")).err
