import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from glasshouse.records.journals import JournalFile

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(values=st.lists(VALUES, min_size=1, max_size=5), share=st.floats(0, 1))
def test_a_journal_cut_anywhere_keeps_its_complete_lines_and_grows_on(values: list[object], share: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        journal = JournalFile(path)
        for value in values:
            journal.write(value, to_disk=False)
        journal.close()
        content = path.read_bytes()
        first = content.index(b"\n") + 1
        cut = first + int(share * (len(content) - first))
        path.write_bytes(content[:cut])
        kept = values[: content[:cut].count(b"\n")]
        again = JournalFile(path)
        assert [json.loads(line) for line in again.lines] == kept
        again.write("more")
        again.close()
        assert [json.loads(line) for line in path.read_text().splitlines()] == [*kept, "more"]


def test_opening_a_file_of_something_else_does_not_change_it(tmp_path: Path) -> None:
    for text in ("one line", "two\nlines without an end"):
        path = tmp_path / "notes.txt"
        path.write_text(text)
        journal = JournalFile(path)
        assert journal.lines[0] == text.splitlines()[0]
        journal.close()
        assert path.read_text() == text
