"""The answers of an experiment on the disk: they survive a kill, and another experiment does not get them."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.llms.answer_journal import AnswerJournal
from glasshouse.llms.debate_rounds import DebateJournal
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

ASKED = {"topic": "trams", "temperatures": (0.2, 0.7)}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def record(key: str, text: str = "x", kind: str = "point") -> dict[str, str]:
    return {"kind": kind, "key": key, "text": text, "finish": "end", "model": "m"}


def test_records_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "debate.jsonl"
    journal = DebateJournal(path, ASKED)
    records = [record("1", "über \u2028 \ud800 <b>"), record("1", "A", "verdict")]
    for each in records:
        journal.add(each)
        assert path.read_bytes().endswith(b"}\n"), "a record is in the file at once"
    journal.close()
    again = DebateJournal(path, ASKED)
    assert again.records == {("point", "1"): records[0], ("verdict", "1"): records[1]}
    again.close()


@given(cut=st.integers(0, 800))
def test_any_cut_of_the_last_line_loses_at_most_that_line(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "debate.jsonl"
    journal = DebateJournal(path, ASKED)
    for number in range(3):
        journal.add(record(str(number), "x" * 100 * number))
    journal.close()
    content = path.read_bytes()
    path.write_bytes(content[: max(len(content) - cut, content.index(b"\n") + 1)])
    again = DebateJournal(path, ASKED)
    kept = [int(key) for _, key in again.records]
    again.close()
    assert kept == list(range(path.read_bytes().count(b"\n") - 1))
    assert content.startswith(path.read_bytes())


@pytest.mark.parametrize("content", [b"not JSON\n", b"[]\n"])
def test_a_file_that_does_not_begin_as_a_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "debate.jsonl"
    path.write_bytes(content)
    with refused(GlasshouseError, "debate.jsonl"):
        DebateJournal(path, ASKED)
    assert path.read_bytes() == content


@pytest.mark.parametrize("damaged", [{"text": 5}, {"kind": None}, {"finish": ["end"]}])
def test_the_question_of_a_damaged_line_is_asked_again(tmp_path: Path, damaged: dict[str, object]) -> None:
    path = tmp_path / "debate.jsonl"
    journal = DebateJournal(path, ASKED)
    journal.add({**record("1"), **damaged})
    journal.add(record("2"))
    journal.close()
    again = DebateJournal(path, ASKED)
    assert list(again.records) == [("point", "2")]
    again.add(record("1"))
    again.close()
    assert len(DebateJournal(path, ASKED).records) == 2


def test_another_question_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "debate.jsonl"
    DebateJournal(path, ASKED).close()
    with refused(GlasshouseError, "topic='trams'", "'trains'", "--output"):
        DebateJournal(path, {**ASKED, "topic": "trains"})
    with refused(GlasshouseError, "rounds=None", "2"):
        DebateJournal(path, {**ASKED, "rounds": 2})


@given(values=st.lists(VALUES, min_size=1, max_size=5), share=st.floats(0, 1))
def test_a_journal_cut_anywhere_keeps_its_complete_lines_and_grows_on(values: list[object], share: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = AnswerJournal(path, Any, lambda record: record[0])
        for place, value in enumerate(values):
            journal.add([place, value], to_disk=False)
        journal.close()
        content = path.read_bytes()
        first = content.index(b"\n") + 1
        cut = first + int(share * (len(content) - first))
        path.write_bytes(content[:cut])
        kept = values[: content[:cut].count(b"\n")]
        again = AnswerJournal(path, Any, lambda record: record[0])
        assert [value for _, value in again.records.values()] == kept
        again.add(["more", 0])
        again.close()
        assert [json.loads(line)[1] for line in path.read_text().splitlines()] == [*kept, 0]


def test_opening_a_file_of_something_else_does_not_change_it(tmp_path: Path) -> None:
    for text in ("one line", "two\nlines without an end"):
        path = tmp_path / "notes.txt"
        path.write_text(text)
        AnswerJournal(path, Any, str).close()
        assert path.read_text() == text
