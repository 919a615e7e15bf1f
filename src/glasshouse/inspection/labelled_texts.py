"""Labelled texts: reads the splits of a data set or of a file of rows, and samples from them. Knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glasshouse.data import prepared_data, table_files
from glasshouse.data.documents import SPLITS
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

# Shares of a file's rows that are held out. A digest of the text decides, as in training.
VALIDATION = TEST = 0.1


@dataclass(frozen=True)
class LabelledTexts:
    """Texts and the class of each."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def sample(self, limit: int, seed: int = 0) -> "LabelledTexts":
        """`limit` random texts in their original order. A limit of 0, or above the number of texts, keeps all of them."""
        if not limit or limit >= len(self):
            return self
        kept = np.sort(np.random.default_rng(seed).choice(len(self), limit, replace=False))
        return LabelledTexts(tuple(self.texts[index] for index in kept), tuple(self.labels[index] for index in kept))


def read(data: str, field: str = "text", label: str = "label") -> dict[str, LabelledTexts]:
    """Every split of a data set or of a file: .tsv (label, tab, text), or .csv or .jsonl with named fields."""
    if data in catalogue.names("source"):
        source = prepared_data.find_source(DataSpec(source=data), ("label",))
        return {
            split: _from_rows([(document.fields["label"], document.text) for document in source.documents(split)])
            for split in SPLITS
        }
    path = Path(data).expanduser()
    if not path.exists():
        suggestion = catalogue.did_you_mean(data, catalogue.names("source"))
        raise DataError(
            "unknown-data",
            f"{data!r} is neither a data set nor a file{suggestion}; `glasshouse data` lists the data sets",
        )
    columns = table_files.Column(label, "--label", "label"), table_files.Column(field, "--field", "text")
    rows = [(name, text) for name, text in table_files.read_rows(path, columns) if name and text]
    if not rows:
        raise DataError("no-rows", f"{path} has no row with both a label and a text; add rows or choose another file")
    split_of = table_files.assign_splits((text for _, text in rows), VALIDATION, TEST)
    return {split: _from_rows([row for row in rows if split_of[row[1]] == split]) for split in SPLITS}


def _from_rows(rows: Sequence[tuple[str, str]]) -> LabelledTexts:
    """Rows are (label, text)."""
    return LabelledTexts(tuple(text for _, text in rows), tuple(label for label, _ in rows))
