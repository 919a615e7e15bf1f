"""The text of a suggested command: of the user's own held-out data, as it is, and the same wherever it is suggested."""

import shlex
from pathlib import Path

import pytest

import glasshouse
from glasshouse.data.documents import Document
from glasshouse.inspection import run_report
from glasshouse.runs import example_text, model_card, suggestions
from glasshouse.runs.example_text import ExampleText

SMALL = ("model.width=16", "model.layers=1", "model.heads=2", "training.epochs=1", "training.threads=1")


def choose(*texts: str) -> ExampleText | None:
    return example_text._choose(Document(text) for text in texts)


def test_a_text_of_a_good_length_that_a_terminal_shows_as_it_is() -> None:
    assert choose("hm", "word " * 30, "the cat\nsat  on a mat", "a b c d") == ExampleText(" ".join(["word"] * 30))
    assert choose("hm", "word " * 50, "the cat\nsat  on a mat") == ExampleText("the cat sat on a mat")
    assert choose("a b", "a bc", "x" * 161) == ExampleText("a bc")
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
    assert shlex.split(suggestions.commands(run)[0])[3] == suggestions.EXAMPLE.text
