"""Suggested commands: they work without editing, and repeat the words of the user."""

import shlex
from pathlib import Path

import pytest

import glasshouse
from glasshouse.data.documents import Document
from glasshouse.inspection import run_report
from glasshouse.runs import model_card, resolve_spec, suggestions
from tests.training.small_runs import train_demo

SMALL = ("model.width=16", "model.layers=1", "model.heads=2", "training.epochs=1", "training.threads=1")


def test_suggestions_work_without_editing(text):
    run = train_demo(text, 'evaluation.prompts=["The state, of", "b"]')
    assert run.spec.evaluation.prompts == ("The state, of", "b")
    last = shlex.split(suggestions.commands(run)[-1])
    assert last[:2] == ["glasshouse", "train"]
    assert "spec.toml" not in last[2], "the words of the user, not the file of the run"
    assert 'evaluation.prompts=["The state, of", "b"]' in last
    again = glasshouse.train(*last[2:], name="again", device="cpu")
    assert again.spec.model.position == "learned"
    assert again.spec == resolve_spec.run_spec(*last[2:])
    assert last[-1] == "model.position=learned"
    # What the user chose by name is put beside what the recipe has, and the last word for a field counts.
    compare, train = (shlex.split(command) for command in suggestions.commands(again)[-2:])
    assert compare[1:3] == ["compare", last[2]]
    assert compare[-3:] == ["model.position=rotary,learned", "--seeds", "4"]
    assert train[-1] == "model.position=rotary"
    assert "model.position=learned" not in train
    again.folder.record(asked=[])
    assert suggestions.commands(again)[-1].endswith("spec.toml model.position=rotary")
    assert all(" compare " not in command for command in suggestions.commands(again))


def test_the_words_of_python_are_those_of_the_command_line():
    words = resolve_spec.words_of(
        "demo-lm", "lr=1e-3", model={"position": "alibi", "head": {"hidden": 8}}, data={"files": ["a"]}
    )
    assert words == ["demo-lm", "lr=1e-3", "model.position=alibi", "model.head.hidden=8", "data.files=[a]"]


def choose(*texts: str) -> tuple[str, str] | None:
    return suggestions._choose(Document(text) for text in texts)


def test_a_text_of_a_good_length_that_a_terminal_shows_as_it_is() -> None:
    assert choose("hm", "word " * 30, "the cat\nsat  on a mat", "a b c d") == (" ".join(["word"] * 30), "")
    assert choose("hm", "word " * 50, "the cat\nsat  on a mat") == ("the cat sat on a mat", "")
    assert choose("a b", "a bc", "x" * 161) == ("a bc", "")
    assert choose("--help me with this", "red \x1b[31m is this text", "") is None


@pytest.mark.parametrize("paired", [False, True])
def test_a_classifier_is_tried_on_a_text_of_its_data(runs: Path, tmp_path: Path, paired: bool) -> None:
    rows = tmp_path / "rows.csv"
    lines = [f'row {n} is "{word}" or so,other {n},{word}\n' for n in range(20) for word in ("good", "bad")]
    rows.write_text("text,more,label\n" + "".join(lines).replace('"', "'"))
    words = ("data.second=more",) if paired else ()
    run = glasshouse.train(
        "pair-classifier" if paired else "classifier", f"data.files={rows}", *words, *SMALL, name="rows", device="cpu"
    )
    command = suggestions.commands(run)[0]
    program, action, name, text, *second = shlex.split(command)
    assert (program, action, name) == ("glasshouse", "classify", "rows")
    number = text.split()[1]
    assert f"{text},other {number}," in rows.read_text()
    assert second == (["--second", f"other {number}"] if paired else [])
    assert run_report.collect(run).commands[0] == command
    # A card is given away, so it has no text of the data.
    assert text not in model_card.markdown(run)
    rows.write_text(rows.read_text() + "and 21 is new now,other 21,good\n")
    assert shlex.split(suggestions.commands(run)[0])[3] == suggestions.EXAMPLE
