"""A pulse of `glasshouse grid`: the table, the page, a killed grid that continues, and the refusals."""

import json
import signal
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError

from .program import call, finish, refused, start, wait_until, worked
from .small_models import train_tiny

QUESTIONS = """
[[questions]]
name = "cat"
prompt = "the cat"
check = { contains = "a" }

[[questions]]
name = "mat"
prompt = "the mat"
"""


def test_a_grid_is_asked_and_continued(runs: Path, tmp_path: Path) -> None:
    train_tiny(tmp_path)
    Path("mine.toml").write_text(QUESTIONS)
    asked = ("grid", "mine.toml", "--models", "small,tiny", "--repeats", "2", "--max-tokens", "6", "--device", "cpu")
    shown = worked(call(*asked, "--output", "g"))
    assert "accuracy, %" in shown.out
    assert "tiny is undecided against small: 1 question" in shown.out
    assert shown.err.count("repeat ") == 8
    assert "8/8  tiny  mat  repeat 2" in shown.err
    lines = Path("g/answers.jsonl").read_text().splitlines()
    assert len({json.loads(line)["seed"] for line in lines}) == 8
    Path("g/answers.jsonl").write_text("\n".join(lines[:5]) + "\n" + lines[5][:20])
    again = worked(call(*asked, "--output", "g"))
    assert again.err.count("repeat ") == 3
    # The seed of an answer is its own, so what is asked again comes out the same.
    texts = [{json.loads(line)["seed"]: json.loads(line)["text"] for line in each} for each in (lines, complete("g"))]
    assert texts[0] == texts[1]
    refused(call(*asked, "--output", "g", "--temperature", "0"), GlasshouseError)
    refused(call(*asked, "--output", "mine.toml"), GlasshouseError)
    refused(call("grid", "mine.toml"), GlasshouseError)
    refused(call("grid", "none.toml", "--models", "tiny"), GlasshouseError)
    assert "grids/mine-" in worked(call(*asked)).out


def complete(folder: str) -> list[str]:
    """The lines of the answers that are whole."""
    return [line for line in Path(folder, "answers.jsonl").read_text().splitlines() if line.endswith("}")]


@pytest.mark.slow
def test_a_killed_grid_loses_nothing(runs: Path, tmp_path: Path) -> None:
    train_tiny(tmp_path)
    asked = ("grid", "--models", "tiny", "--repeats", "40", "--max-tokens", "40", "--output", "g", "--device", "cpu")
    process = start(*asked)
    wait_until(lambda: Path("g/answers.jsonl").exists() and len(complete("g")) > 2, process)
    process.send_signal(signal.SIGKILL)
    finish(process)
    kept = complete("g")
    assert 2 < len(kept) < 160
    again = start(*asked)
    wait_until(lambda: len(complete("g")) > len(kept), again)
    again.send_signal(signal.SIGINT)
    outcome = finish(again)
    assert outcome.code == 130, outcome.err
    assert "of 160 answers; continue with: the same command [interrupted]" in outcome.err
    assert complete("g")[: len(kept)] == kept
    assert "answers are missing" in Path("g/report.html").read_text()
