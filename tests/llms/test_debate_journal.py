"""The journal of a debate: what survives a kill, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.llms.debate_journal import DebateJournal
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

SETTINGS = {"topic": "trams", "temperatures": (0.2, 0.7)}
TURN: dict[str, object] = {"topic": "trams", "temperature": 0.2, "round": 1, "number": 1, "side": "for", "model": "a"}
ASKED: dict[str, object] = {"messages": [{"role": "user", "text": "Argue."}], "finish": "end"}
POINT: dict[str, object] = {**TURN, **ASKED, "seed": 1, "tokens": 3, "seconds": 0.5}
VERDICT: dict[str, object] = {"judge": "b", "A": TURN, "B": TURN, **ASKED}


def test_records_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "debate.jsonl"
    journal = DebateJournal(path, SETTINGS)
    journal.add("point", "1", {**POINT, "text": "über \u2028 \ud800 <b>"})
    journal.add("verdict", "1", {**VERDICT, "text": "A"})
    journal.close()
    again = DebateJournal(path, SETTINGS)
    assert again.find("point", "1") == {**POINT, "text": "über \u2028 \ud800 <b>"}
    assert again.find("verdict", "1") == {**VERDICT, "text": "A"}
    assert again.find("point", "2") is None
    again.close()


def test_a_record_is_in_the_file_at_once(tmp_path: Path) -> None:
    journal = DebateJournal(tmp_path / "debate.jsonl", SETTINGS)
    journal.add("point", "1", {"text": "here"})
    assert '"here"' in (tmp_path / "debate.jsonl").read_text()
    journal.close()


@given(cut=st.integers(0, 800))
def test_any_cut_of_the_last_line_loses_at_most_that_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "debate.jsonl"
    journal = DebateJournal(path, SETTINGS)
    for number in range(3):
        journal.add("point", str(number), {**POINT, "text": "x" * number})
    journal.close()
    content = path.read_bytes()
    path.write_bytes(content[: max(len(content) - cut, content.index(b"\n") + 1)])
    again = DebateJournal(path, SETTINGS)
    kept = [number for number in range(3) if again.find("point", str(number)) is not None]
    again.close()
    assert kept == list(range(path.read_bytes().count(b"\n") - 1))
    assert content.startswith(path.read_bytes())


@pytest.mark.parametrize(
    "content", [b"not JSON\n", b'{"format": 1, "topic": "x"}\nbroken\n', b"[]\n", b'{"format": 1}\n3\n']
)
def test_damaged_lines_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "debate.jsonl"
    path.write_bytes(content)
    with refused(GlasshouseError):
        DebateJournal(path, {"topic": "x"})
    assert path.read_bytes() == content


def test_other_settings_are_named(tmp_path: Path) -> None:
    DebateJournal(tmp_path / "debate.jsonl", SETTINGS).close()
    with refused(GlasshouseError, "topic='trams'", "'trains'"):
        DebateJournal(tmp_path / "debate.jsonl", {**SETTINGS, "topic": "trains"})


@pytest.mark.parametrize(
    ("kind", "record", "field"),
    [
        ("point", {**POINT, "text": 5}, "text"),
        ("point", {**POINT, "text": "a", "temperature": "x"}, "temperature"),
        ("point", {**POINT, "text": "a", "tokens": -1}, "tokens"),
        ("point", POINT, "text"),
        ("verdict", {**VERDICT, "text": None}, "text"),
        ("verdict", {**VERDICT, "text": "A", "A": {**TURN, "round": 0}}, "A.round"),
    ],
)
def test_a_record_has_the_fields_of_its_kind(tmp_path: Path, kind: str, record: dict[str, object], field: str) -> None:
    path = tmp_path / "debate.jsonl"
    journal = DebateJournal(path, SETTINGS)
    journal.add(kind, "1", record)
    journal.close()
    with refused(GlasshouseError, "line 2", field):
        DebateJournal(path, SETTINGS)
