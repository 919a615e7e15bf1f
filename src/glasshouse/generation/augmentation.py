"""Augmentation of a file: each row is written with paraphrases of its text. Reads and writes files; knows no model."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glasshouse.data import text_files
from glasshouse.data.tables import reading
from glasshouse.data.user_files.rows import UserRows
from glasshouse.generation.paraphrase import Paraphrase
from glasshouse.records import atomic_files
from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.specs.spec import DataSpec


@dataclass(frozen=True)
class AugmentedFile:
    """The written file: original rows, copies, tokens masked and changed in the copies, and copies equal to their row."""

    path: Path
    rows: int
    copies: int
    hidden: int
    changed: int
    unchanged_copies: int


def check(source: Path, output: Path) -> None:
    """Raise GlasshouseError if the output cannot be written; call it before any work."""
    if os.path.lexists(output):
        raise GlasshouseError(f"{output} exists already; choose another path, or delete the file")
    atomic_files.check_output(output)
    if reading.is_table(source) and output.suffix != ".tsv":
        raise GlasshouseError(
            f"labelled rows are written as .tsv (label, tab, text), but --output is {output}; choose a name ending in .tsv"
        )


def augment(
    source: Path,
    output: Path,
    paraphrase: Callable[[Sequence[str]], list[list[Paraphrase]]],
    field: str = "text",
    label: str = "label",
) -> AugmentedFile:
    """Write each row of a file followed by paraphrases of its text, with the same label. Plain text has no labels."""
    check(source, output)
    labels, texts = _read(source, field, label)
    if not texts:
        raise DataError(f"{source} has no text to paraphrase; choose a file with text")
    paraphrases = paraphrase(texts)
    lines = []
    for name, text, copies in zip(labels, texts, paraphrases, strict=True):
        # Line breaks and tabs inside a text would start new rows and columns.
        one_line = (" ".join(version.split()) for version in (text, *(copy.text for copy in copies)))
        lines += [f"{name}\t{line}" if name else line for line in one_line]
    atomic_files.write_text(output, "\n".join(lines) + "\n")
    all_copies = [copy for copies in paraphrases for copy in copies]
    return AugmentedFile(
        output,
        len(texts),
        len(all_copies),
        sum(copy.hidden for copy in all_copies),
        sum(copy.changed for copy in all_copies),
        sum(not copy.changed for copy in all_copies),
    )


def _read(path: Path, field: str, label: str) -> tuple[list[str], list[str]]:
    """The labels and texts of the rows that have both. The labels of a plain text file are empty."""
    data = DataSpec(files=(str(path),), field=field, label=label, validation=0.0, test=0.0, insist=True)
    if not reading.is_table(path):
        texts = [line.strip() for line in text_files.read_lines(path) if line.strip()]
        return [""] * len(texts), texts
    rows = [(row.fields["label"], row.text) for row in UserRows(data, ("label",)).documents("train")]
    return [" ".join(name.split()) for name, _ in rows], [text for _, text in rows]
