"""A file with paraphrases of its rows: each row, then its copies. Knows how files are read and written, and no model."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from glasshouse.data import table_files, text_files
from glasshouse.generation.paraphrase import Paraphrase
from glasshouse.records import atomic_files
from glasshouse.specs.errors import DataError, GlasshouseError

LABELLED = (".tsv", ".csv", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class Augmented:
    """What was written: rows as they were, copies of them, tokens hidden and changed, and copies equal to their row."""

    path: Path
    rows: int
    copies: int
    hidden: int
    changed: int
    unchanged_copies: int


def check(source: Path, output: Path) -> None:
    """Refuse, before any work, an output that cannot be written."""
    if os.path.lexists(output):
        raise GlasshouseError("output-exists", f"{output} exists already; give a path that does not, or delete it")
    atomic_files.check_output(output)
    if _is_labelled(source) and output.suffix != ".tsv":
        raise GlasshouseError(
            "wrong-suffix", f"labelled rows are written as .tsv (label, tab, text), and --output is {output}; end it so"
        )


def augment(
    source: Path,
    output: Path,
    paraphrase: Callable[[Sequence[str]], list[list[Paraphrase]]],
    field: str = "text",
    label: str = "label",
) -> Augmented:
    """Write every row of a file and the paraphrases of its text under the same label; lines without labels stay so."""
    check(source, output)
    labels, texts = _read(source, field, label)
    if not texts:
        raise DataError("no-rows", f"{source} has no text to paraphrase; give a file with some")
    made = paraphrase(texts)
    lines = []
    for name, text, copies in zip(labels, texts, made, strict=True):
        # Lines and tabs would be read as other rows and columns.
        lines += [f"{name}\t{kept}" if name else kept for kept in (" ".join(t.split()) for t in (text, *_texts(copies)))]
    atomic_files.write_text(output, "\n".join(lines) + "\n")
    every = [copy for copies in made for copy in copies]
    return Augmented(
        output,
        len(texts),
        len(every),
        sum(copy.hidden for copy in every),
        sum(copy.changed for copy in every),
        sum(not copy.changed for copy in every),
    )


def _texts(copies: list[Paraphrase]) -> list[str]:
    return [copy.text for copy in copies]


def _is_labelled(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(LABELLED)


def _read(path: Path, field: str, label: str) -> tuple[list[str], list[str]]:
    """(labels, texts) of the rows that have both; of plain lines, labels that are empty."""
    if not _is_labelled(path):
        texts = [line.strip() for line in text_files.lines(path) if line.strip()]
        return [""] * len(texts), texts
    columns = table_files.Column(label, "--label", "label"), table_files.Column(field, "--field", "text")
    kept = [(name, text) for name, text in table_files.read(path, columns) if name and text]
    return [" ".join(name.split()) for name, _ in kept], [text for _, text in kept]
