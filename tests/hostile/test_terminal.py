"""Text from outside is shown on a terminal and not obeyed."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from glasshouse.cli.tables import shown
from glasshouse.formatting import without_controls
from glasshouse.records.progress_bar import SafeConsole

# Clears the screen, sets the title of the window, moves the cursor; the last one by a single character.
ATTACKS = ["\x1b[2J", "\x1b]0;title\x07", "\x1b[10;10H", "\x9b2J", "a\rb", "a\x08b", "\x7f"]
OBEYED = {chr(number) for number in (*range(32), *range(127, 160))} - {"\n", "\t"}


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
