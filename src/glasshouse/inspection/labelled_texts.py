"""Labelled texts: reads the splits of a data set or of a file of rows, and samples from them. Knows no model."""

from dataclasses import dataclass

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS
from glasshouse.records import user_paths
from glasshouse.specs import catalogue
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec

# Shares of a file's rows that are held out. A digest of the text decides, as in training.
VALIDATION = TEST = 0.1


@dataclass(frozen=True)
class LabelledTexts:
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
    """Every split of a data set or of a table, such as .tsv (label, tab, text), .csv or .jsonl."""
    if data in catalogue.names("source"):
        spec = DataSpec(source=data)
    else:
        path = user_paths.expand(data)
        if not path.exists():
            suggestion = catalogue.did_you_mean(data, catalogue.names("source"))
            raise DataError(f"{data!r} is neither a data set nor a file{suggestion}; `glasshouse data` lists the data sets")
        spec = DataSpec(files=(str(path),), field=field, label=label, validation=VALIDATION, test=TEST)
    source = prepared_data.find_source(spec, ("label",))
    splits: dict[str, LabelledTexts] = {}
    for split in SPLITS:
        rows = [(document.text, document.fields["label"]) for document in source.documents(split)]
        splits[split] = LabelledTexts(tuple(text for text, _ in rows), tuple(label for _, label in rows))
    return splits
