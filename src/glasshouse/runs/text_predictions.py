"""Predictions for many texts, one after another, as dictionaries or as the lines of a CSV or JSON lines file.

Only a chunk of the texts is in memory at a time.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.tables import reading
from glasshouse.data.tables.class_labels import LABEL_SEPARATOR
from glasshouse.data.tables.columns import ColumnRequest
from glasshouse.data.tables.reading import Pair
from glasshouse.data.tables.table import TableFormat
from glasshouse.formatting import MISSING
from glasshouse.records.progress_bar import say
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError

CSV, JSON_LINES = FORMATS = (".csv", ".jsonl")
# Texts of similar length are predicted together, so that little is padded. More texts would make better batches.
CHUNK = 1024


class TextFile:
    """The texts of a file, for a run: read once to count them, which also finds what is wrong with the file."""

    def __init__(
        self, run: Run, path: Path, field: str | None, second_field: str | None, limits: Iterable[str] = ()
    ) -> None:
        data = run.spec.data
        text = ColumnRequest(field or data.field, "text", setting="field", is_named=bool(field))
        name = second_field or data.second or "second"
        second = ColumnRequest(name, "second", setting="second_field", is_named=bool(second_field))
        self.path, self.paired = path, run.reads_pairs or (second_field is not None and run.joins_pairs)
        form = TableFormat(limits=ReadLimits.of((*data.limits, *limits)))
        self._pairs, self.remarks = reading.read_texts(path, text, second if self.paired else None, form)
        self.count = sum(1 for _ in self._pairs())
        if not self.count:
            raise DataError(f"{path} is empty; choose a file that contains text")

    def __iter__(self) -> Iterator[Pair]:
        return self._pairs()


def predict_each(run: Run, pairs: Iterable[Pair]) -> Iterator[dict[str, Any]]:
    """A dictionary for each text: the text itself and what `run.predict` gives. An empty text has no prediction."""
    paired, waiting, empty, total = _are_pairs(run, pairs), iter(pairs), 0, 0
    while chunk := list(islice(waiting, CHUNK)):
        filled = [index for index, (text, _) in enumerate(chunk) if text.strip()]
        order = sorted(filled, key=lambda index: len(chunk[index][0]))
        seconds = [chunk[index][1] for index in order] if paired else None
        predictions = dict(zip(order, run.predict([chunk[index][0] for index in order], seconds), strict=True))
        for index, (text, second) in enumerate(chunk):
            yield {"text": text, **({"second": second} if paired else {}), **predictions.get(index, {})}
        total += len(chunk)
        empty += len(chunk) - len(filled)
    if not total:
        raise DataError("there is no text to predict for; give one text a line")
    if empty:
        say(f"{empty:,} of {total:,} texts are empty and have no prediction")


def is_missing(prediction: dict[str, Any]) -> bool:
    """Whether an entry of `predict_each` has no prediction, because its text is empty."""
    return prediction.keys() <= {"text", "second"}


def _are_pairs(run: Run, texts: Iterable[Pair]) -> bool:
    return texts.paired if isinstance(texts, TextFile) else run.reads_pairs


def lines(run: Run, texts: Iterable[Pair], predictions: Iterable[dict[str, Any]], form: str) -> Iterator[str]:
    """The lines of a file of predictions, with line endings. `form` is ".csv", with a header, or ".jsonl"."""
    if form == JSON_LINES:
        for prediction in predictions:
            yield json.dumps(prediction, ensure_ascii=False) + "\n"
        return
    names = _columns(run, _are_pairs(run, texts))
    yield _csv_line(names)
    for prediction in predictions:
        cells = _cells(prediction)
        yield _csv_line([cells.get(name, "") for name in names])


def _columns(run: Run, paired: bool) -> list[str]:
    texts = ["text", "second"] if paired else ["text"]
    shares = [_share_name(label) for label in run.facts.get("labels", ())]
    outputs = {"classify": ["label", *shares], "multi-label": ["labels", *shares], "tag": ["tags"]}
    return [*texts, *outputs.get(run.spec.task, ["value"])]


def _share_name(label: str) -> str:
    return f"probability of {label}"


def _cells(prediction: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row by the names of their columns. The tags of words are separated by spaces."""
    cells: dict[str, Any] = {name: prediction[name] for name in ("text", "second", "label", "value") if name in prediction}
    if "labels" in prediction:
        cells["labels"] = LABEL_SEPARATOR.join(prediction["labels"])
    if "tags" in prediction:
        cells["tags"] = " ".join(tag or MISSING for tag in prediction["tags"])
    elif "probabilities" in prediction:
        cells |= {_share_name(label): f"{share:.6g}" for label, share in prediction["probabilities"].items()}
    return cells


def _csv_line(cells: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
