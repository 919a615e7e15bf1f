"""Predictions for many texts, one after another, as dictionaries or as the rows of a CSV or JSON lines file.

Only a chunk of the texts is in memory at a time.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from os import PathLike
from typing import Any, TextIO

from glasshouse.data.read_limits import ReadLimits
from glasshouse.data.tables import reading
from glasshouse.data.tables.class_labels import LABEL_SEPARATOR
from glasshouse.data.tables.columns import ColumnRequest
from glasshouse.data.tables.reading import Pair
from glasshouse.data.tables.table import TableFormat
from glasshouse.formatting import MISSING
from glasshouse.records import user_paths
from glasshouse.records.progress_bar import bar, say
from glasshouse.records.user_paths import StrPath
from glasshouse.runs.run import Run
from glasshouse.specs.errors import DataError

CSV, JSON_LINES = FORMATS = (".csv", ".jsonl")
# Texts of similar length are predicted together, so that little is padded. More texts would make better batches.
CHUNK = 1024
TEXTS = ("text", "second")


class Texts:
    """The texts of a file or of a stream, for a run. A file is read once before, which finds what is wrong with it.

    `count` is the number of texts of a file; 0 of a stream, which is not known.
    """

    def __init__(
        self, run: Run, given: StrPath | Iterable[str], field: str | None, second_field: str | None, limits: str
    ) -> None:
        self.count, self.paired = 0, run.reads_pairs
        if not isinstance(given, str | PathLike):
            if self.paired:
                raise DataError(f"{run.name} reads pairs of texts; give a file with two columns, such as a .csv file")
            if field or second_field:
                raise DataError("a stream of texts has no columns; leave out --field and --second-field, or give a file")
            self.pairs: Callable[[], Iterator[Pair]] = lambda: ((text, "") for text in given)
            return
        path, data = user_paths.expand(given), run.spec.data
        text = ColumnRequest(field or data.field, "text", setting="field", is_named=bool(field))
        name = second_field or data.second or "second"
        second = ColumnRequest(name, "second", setting="second_field", is_named=bool(second_field))
        self.paired = self.paired or (second_field is not None and run.joins_pairs)
        form = TableFormat(limits=ReadLimits.of((*data.limits, limits)))
        with bar("reading"):
            self.pairs, remarks = reading.read_texts(path, text, second if self.paired else None, form)
            self.count = sum(1 for _ in self.pairs())
        if not self.count:
            raise DataError(f"{path} is empty; choose a file that contains text")
        for remark in remarks:
            say(remark)


def predict_each(run: Run, texts: Texts) -> Iterator[dict[str, Any]]:
    """A dictionary for each text: the text itself and what `run.predict` gives. An empty text has no prediction."""
    waiting, empty, total = texts.pairs(), 0, 0
    while chunk := list(islice(waiting, CHUNK)):
        filled = [index for index, (text, _) in enumerate(chunk) if text.strip()]
        order = sorted(filled, key=lambda index: len(chunk[index][0]))
        seconds = [chunk[index][1] for index in order] if texts.paired else None
        predictions = dict(zip(order, run.predict([chunk[index][0] for index in order], seconds), strict=True))
        for index, pair in enumerate(chunk):
            yield {**dict(zip(TEXTS[: 1 + texts.paired], pair, strict=False)), **predictions.get(index, {})}
        total += len(chunk)
        empty += len(chunk) - len(filled)
    if not total:
        raise DataError("there is no text to predict for; give one text a line")
    if empty:
        say(f"{empty:,} of {total:,} texts are empty and have no prediction")


def write(run: Run, texts: Texts, target: TextIO, form: str, show: Callable[[float], None]) -> int:
    """Write each prediction as soon as it is made. `form` is ".csv", with a header, or ".jsonl". Returns their number."""
    rows, predicted = None, 0
    if form == CSV:
        rows = csv.DictWriter(target, _columns(run, texts.paired), lineterminator="\n", extrasaction="ignore")
        rows.writeheader()
    for number, prediction in enumerate(predict_each(run, texts), 1):
        if rows:
            rows.writerow(_cells(prediction))
        else:
            target.write(json.dumps(prediction, ensure_ascii=False) + "\n")
        predicted += not prediction.keys() <= set(TEXTS)
        if texts.count and number % CHUNK == 0:
            show(number / texts.count)
    return predicted


def _columns(run: Run, paired: bool) -> list[str]:
    shares = [_share_name(label) for label in run.facts.get("labels", ())]
    outputs = {"classify": ["label", *shares], "multi-label": ["labels", *shares], "tag": ["tags"]}
    return [*TEXTS[: 1 + paired], *outputs.get(run.spec.task, ["value"])]


def _share_name(label: str) -> str:
    return f"probability of {label}"


def _cells(prediction: dict[str, Any]) -> dict[str, Any]:
    cells = dict(prediction)
    if "labels" in prediction:
        cells["labels"] = LABEL_SEPARATOR.join(prediction["labels"])
    if "tags" in prediction:
        cells["tags"] = " ".join(tag or MISSING for tag in prediction["tags"])
    elif "probabilities" in prediction:
        cells |= {_share_name(label): f"{share:.6g}" for label, share in prediction["probabilities"].items()}
    return cells
