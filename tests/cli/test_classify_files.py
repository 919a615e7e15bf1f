"""`glasshouse classify --file`: the texts of a file or a pipe, and predictions written to a file."""

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

import glasshouse
from glasshouse.runs import text_predictions
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError, GlasshouseError

from .program import call, folders, refused, worked

SMALL = ("model.width=16", "model.layers=1", "training.epochs=1", "training.precision=fp32", "training.threads=1")
TEXTS = ["baa bab 7", "", 'doa, "dob" 8', "do\tx", "ba é"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """The folder of two runs: a classifier of texts and one of pairs."""
    folder = tmp_path_factory.mktemp("classifiers")
    rows = [f"{label},{label}a {number},{label}b" for label in ("ba", "do") for number in range(40)]
    (folder / "rows.csv").write_text("label,text,second\n" + "\n".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        for recipe in ("classifier", "pair-classifier"):
            worked(call("train", recipe, f"data.files={folder / 'rows.csv'}", *SMALL, "--name", recipe, "--device", "cpu"))
    return folder / "runs"


@pytest.fixture
def classifiers(trained: Path, runs: Path) -> Path:
    return shutil.copytree(trained, runs)


def classify(*arguments: str) -> str:
    return worked(call("classify", "classifier", *arguments, "--device", "cpu")).out


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.usefixtures("classifiers")
def test_lines_of_a_file_become_rows(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS) + "\n")
    assert "wrote 4 predictions" in classify("--file", "lines.txt", "--output", "out.csv")
    found = rows_of((tmp_path / "out.csv").read_text())
    assert [row["text"] for row in found] == TEXTS
    assert [row["label"] == "" for row in found] == [text == "" for text in TEXTS]
    [expected] = glasshouse.classify("classifier", [TEXTS[2]], "cpu")
    assert float(found[2]["probability of do"]) == pytest.approx(expected["do"], rel=1e-4)
    classify("--file", "lines.txt", "--output", "out.jsonl")
    objects = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [each["text"] for each in objects] == TEXTS
    assert objects[1] == {"text": ""}
    assert objects[0]["probabilities"].keys() == {"ba", "do"}
    assert not [name for name in folders(tmp_path) if name.endswith(".tmp")]


@pytest.mark.usefixtures("classifiers")
def test_texts_come_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    for arguments in (("-",), ("--file", "-"), ()):
        monkeypatch.setattr("sys.stdin", io.StringIO("baa\ndob\n"))
        shown.append(classify(*arguments))
    assert [row["text"] for row in rows_of(shown[0])] == ["baa", "dob"]
    assert shown[0] == shown[1] == shown[2]
    monkeypatch.setattr("sys.stdin", io.StringIO("baa\n"))
    assert json.loads(classify("-", "--json"))["text"] == "baa"
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    refused(call("classify", "classifier", "-", "--device", "cpu"), DataError)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ba\xff\n")))
    refused(call("classify", "classifier", "-", "--device", "cpu"), DataError)


@pytest.mark.usefixtures("classifiers")
def test_a_column_of_a_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('number,body\n1,"ba, ba"\n2,do do do do\n')
    (tmp_path / "rows.jsonl").write_text('{"number": 1, "body": "ba, ba"}\n{"number": 2, "body": "do do do do"}\n')
    for name in ("rows.csv", "rows.jsonl"):
        assert [row["text"] for row in rows_of(classify("--file", name, "--field", "body"))] == ["ba, ba", "do do do do"]
    message = refused(call("classify", "classifier", "--file", "rows.csv", "--field", "title"), DataError, "--field")
    assert "data.field" not in message


@pytest.mark.usefixtures("classifiers")
def test_pairs_are_two_columns_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("text,second\nbaa,bab\ndoa,dob\n")
    found = worked(call("classify", "pair-classifier", "--file", "pairs.csv", "--device", "cpu")).out
    assert [(row["text"], row["second"]) for row in rows_of(found)] == [("baa", "bab"), ("doa", "dob")]
    (tmp_path / "lines.txt").write_text("baa\n")
    refused(call("classify", "pair-classifier", "--file", "lines.txt", "--device", "cpu"), DataError)


@pytest.mark.usefixtures("classifiers")
def test_a_failure_in_the_middle_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lines.txt").write_text("ba\n" * 10)
    (tmp_path / "out.csv").write_text("old")
    monkeypatch.setattr(text_predictions, "CHUNK", 4)
    real, calls = Run.predict, []

    def fail(self, *arguments):
        calls.append(1)
        if len(calls) == 2:
            raise glasshouse.GlasshouseError("no more")
        return real(self, *arguments)

    monkeypatch.setattr(Run, "predict", fail)
    refused(call("classify", "classifier", "--file", "lines.txt", "--output", "out.csv", "--overwrite"), GlasshouseError)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert not [name for name in folders(tmp_path) if name.endswith(".tmp")]


@pytest.mark.usefixtures("classifiers")
def test_chunks_are_read_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_predictions, "CHUNK", 4)
    taken = []

    def texts():
        for number in range(100):
            taken.append(number)
            yield f"ba {number}"

    predictions = glasshouse.runs.predict_file("classifier", texts(), "cpu")
    assert next(predictions)["text"] == "ba 0"
    assert len(taken) == 4
    assert [each["text"] for each in predictions] == [f"ba {number}" for number in range(1, 100)]


@pytest.mark.usefixtures("classifiers")
def test_wrong_options_are_refused(tmp_path: Path, run: Path) -> None:
    (tmp_path / "lines.txt").write_text("ba\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "empty.csv").write_text("text\n")
    with_file = ("classify", "classifier", "--file", "lines.txt")
    refused(call(*with_file, "a text"), GlasshouseError)
    refused(call(*with_file, "--second", "a text"), GlasshouseError)
    refused(call(*with_file, "--output", "out.csv", "--json"), GlasshouseError)
    refused(call(*with_file, "--output", "out.txt"), GlasshouseError, "out.txt")
    refused(call(*with_file, "--output", "none/out.csv"), GlasshouseError)
    refused(call("classify", "classifier", "a text", "--output", "out.csv"), GlasshouseError)
    refused(call("classify", "classifier", "--file", "none.txt"), GlasshouseError, "none.txt")
    refused(call("classify", "classifier", "--file", "empty.txt"), GlasshouseError)
    refused(call("classify", "classifier", "--file", "empty.csv"), DataError)
    refused(call("classify", run.name, "--file", "lines.txt"), GlasshouseError)
    refused(call("classify", "classifier", "--file", "empty.csv", "--output", "empty.csv"), GlasshouseError)
