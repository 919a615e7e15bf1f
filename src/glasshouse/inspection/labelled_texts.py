"""Labelled texts by name: the splits of a named data set, or of a file of rows, and a sample of each. Knows no model."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from glasshouse.data import prepared_data, table_files
from glasshouse.data.documents import SPLITS
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

# Shares of a file's rows that are held out, by a digest of their texts, as training holds them out.
VALIDATION = TEST = 0.1


@dataclass(frozen=True)
class Labelled:
    """Some texts and the class of each."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def sample(self, limit: int, seed: int = 0) -> "Labelled":
        """So many at random, in their own order; all of them where there are no more, or for a limit of 0."""
        if not limit or limit >= len(self):
            return self
        kept = np.sort(np.random.default_rng(seed).choice(len(self), limit, replace=False))
        return Labelled(tuple(self.texts[index] for index in kept), tuple(self.labels[index] for index in kept))


def read(data: str, field: str = "text", label: str = "label") -> dict[str, Labelled]:
    """Every split of a data set by name, or of a file: .tsv (label, tab, text), or .csv or .jsonl with named fields."""
    if data in catalogue.names("source"):
        source = prepared_data.source_of(DataSpec(source=data), ("label",))
        return {split: _of([(d.fields["label"], d.text) for d in source.documents(split)]) for split in SPLITS}
    path = Path(data).expanduser()
    if not path.exists():
        close = catalogue.nearest(data, catalogue.names("source"))
        raise DataError(
            "unknown-data",
            f"there is neither a data set nor a file {data!r}{close}; see `glasshouse data` for the data sets",
        )
    columns = table_files.Column(label, "--label", "label"), table_files.Column(field, "--field", "text")
    kept = [(name, text) for name, text in table_files.read(path, columns) if name and text]
    if not kept:
        raise DataError("no-rows", f"{path}: no row has both a label and a text")
    homes = table_files.homes((text for _, text in kept), VALIDATION, TEST)
    return {split: _of([row for row in kept if homes[row[1]] == split]) for split in SPLITS}


def _of(pairs: Sequence[tuple[str, str]]) -> Labelled:
    return Labelled(tuple(text for _, text in pairs), tuple(label for label, _ in pairs))
