"""`glasshouse augment`."""

from pathlib import Path

from glasshouse.specs.errors import DataError, GlasshouseError

from .program import (
    call,
    refused,
    worked,
)


def test_rows_are_augmented(masked_run: Path, run: Path, labelled_rows: Path, tmp_path: Path) -> None:
    options = ("--output", "more.tsv", "--device", "cpu")
    out = worked(call("augment", str(masked_run), str(labelled_rows), "--copies", "1", *options)).out
    assert "120 rows and 120 copies" in out
    assert "masked tokens were replaced by other tokens" in out
    lines = (tmp_path / "more.tsv").read_text().splitlines()
    assert len(lines) == 240
    assert lines[::2] == labelled_rows.read_text().splitlines()
    assert [line.split("\t")[0] for line in lines[1::2]] == [line.split("\t")[0] for line in lines[::2]]
    refused(call("augment", str(masked_run), str(labelled_rows), *options), GlasshouseError, "more.tsv")
    refused(
        call("augment", str(masked_run), str(labelled_rows), "--output", "b.tsv", "--share", "2"),
        GlasshouseError,
        "--share=2",
    )
    refused(call("augment", str(masked_run), "gone.tsv", "--output", "b.tsv"), GlasshouseError, "gone.tsv")
    refused(call("augment", "tiny", str(labelled_rows), "--output", "b.tsv"), DataError)
    assert not (tmp_path / "b.tsv").exists()
