"""Text from outside is shown on a terminal and not obeyed."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from glasshouse.cli.tables import shown
from glasshouse.formatting import without_controls
from glasshouse.records.progress_bar import SafeConsole
from glasshouse.records.run_folder import RunFolder
from tests.cli.program import call, worked
from tests.studies.example_studies import make_design, write_run

# Clears the screen, sets the title of the window, moves the cursor; the last one by a single character.
ATTACKS = [
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1b[10;10H",
    "\x9b2J",
    "a\rb",
    "a\x08b",
    "\x7f",
    "\u202egpj.exe",
    "a\u2066b\u2069",
]
# Marks of direction show the words of a line in another order.
DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
OBEYED = {chr(number) for number in (*range(32), *range(127, 160), *DIRECTIONS)} - {"\n", "\t"}


@given(st.text())
def test_a_text_has_no_control_characters_and_else_stays(text):
    shown = without_controls(text)
    assert not OBEYED & set(shown)
    if not OBEYED & set(text):
        assert shown == text


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_console_writes_no_escape_sequence_of_a_text(attack):
    written = io.StringIO()
    console = SafeConsole(file=written, force_terminal=True, no_color=True, width=80)
    table = Table("label")
    table.add_row(attack)
    console.print(attack, markup=False)
    console.print(table)
    # Rich's own sequences set styles only.
    assert "\x1b[2J" not in written.getvalue()
    assert "\x1b]" not in written.getvalue()
    assert not (OBEYED - {"\x1b"}) & set(written.getvalue())


def test_a_console_still_has_styles():
    written = io.StringIO()
    SafeConsole(file=written, force_terminal=True, color_system="standard").print("[bold]a[/bold]")
    assert "\x1b[1m" in written.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("raw", [False, True])
def test_control_characters_leave_as_they_are_only_when_asked_for_and_piped(monkeypatch, terminal, raw):
    output = io.StringIO()
    monkeypatch.setattr(output, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stdout", output)
    assert shown("a\x1b[2J\n\tb", raw) == ("a\x1b[2J\n\tb" if raw and not terminal else "a␛[2J\n\tb")


@pytest.mark.parametrize("listing", ["runs", "studies"])
def test_a_list_shows_the_marks_in_names_of_somebody_else(tmp_path, monkeypatch, listing):
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(tmp_path))
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path))
    mark = "\u202e\x1b[2J\u200f"
    run = tmp_path / f"gpj{mark}"
    write_run(RunFolder(run), make_design("model.norm=layer,rms").arms[0].spec, 1.0)
    RunFolder(run).record(recipe=mark, headline={"validation": [[mark, mark]]}, origin=mark)
    (study := tmp_path / f"study{mark}").mkdir()
    (study / "study.json").write_text(json.dumps({"format": mark}))
    written = worked(call(listing)).out
    assert "\\u202e" in written
    assert not OBEYED & set(written)
