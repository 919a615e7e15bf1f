"""The held-out texts whose predictions a report shows, with the scores of classes, of numbers and of tags.

They are of the test split, or of the validation split if that is empty.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.data.documents import Document
from glasshouse.data.shards import Shard
from glasshouse.formatting import probability
from glasshouse.metrics.classification import confusion_matrix
from glasshouse.records import atomic_files, item_values, kept_json
from glasshouse.records.kept_schema import Count
from glasshouse.records.status import Status
from glasshouse.results.report import Confusion, Regression, ScoreTable, Section, TaggedSentence, TaggedWord
from glasshouse.results.table import Table
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.classify import PREDICTION, PROBABILITY, TRUTH
from glasshouse.tasks.multi_label import LabelSetScores
from glasshouse.tasks.regress import NumberScores
from glasshouse.tasks.tag import TaggedWords

# Limits that keep a report quick to write and short to read.
MOST_TEXTS = 5000
MOST_CHARACTERS = 240
MOST_ERRORS = 5
MOST_SENTENCES = 8
MOST_WORDS = 60
# The format of the stored errors of a classifier.
FORMAT = 1


@dataclass(frozen=True)
class HeldOutTexts:
    """Some examples of a held-out split."""

    run: Run
    split: str
    shard: Shard
    examples: np.ndarray

    @property
    def where(self) -> str:
        count = f"{len(self.examples):,}"
        of = f" of {self.shard.documents:,}" if len(self.examples) < self.shard.documents else ""
        return f"{count}{of} {self.split} texts"

    @cached_property
    def documents(self) -> list[Document]:
        """All documents of the split, as they were before tokenization."""
        return list(prepared_data.find_source(self.run.spec.data, self.run.task.columns).documents(self.split))

    def text(self, place: int) -> str:
        """The text of an example, shortened; of a pair, both texts."""
        document = self.documents[self.examples[place]]
        texts = [document.text, *([document.fields["second"]] if "second" in self.run.task.columns else [])]
        shortened = [text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…" for text in texts]
        return " | ".join(shortened)


def find(run: Run) -> HeldOutTexts | str | None:
    """The texts; if they cannot be read any more, the reason; None if the run has no held-out data."""
    data = run.spec.data
    if not (data.source or data.files):
        return None
    try:
        prepared = prepared_data.prepare(data, run.tokenizer, columns=run.task.columns)
    except (GlasshouseError, OSError) as error:
        return str(error)
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return "the data has changed since the run was trained"
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return None
    shard = prepared.splits[split]
    examples = np.arange(shard.documents)
    if shard.documents > MOST_TEXTS:
        examples = np.linspace(0, shard.documents - 1, MOST_TEXTS).round().astype(np.int64)
    return HeldOutTexts(run, split, shard, examples)


def distinct(indices: Iterable[int], text: Callable[[int], Any], most: int) -> list[int]:
    """The first indices, at most so many, whose texts differ: a text that the data repeat is shown once."""
    chosen: dict[Any, int] = {}
    for index in indices:
        if len(chosen) == most:
            break
        chosen.setdefault(text(index), int(index))
    return list(chosen.values())


def wrong_and_right(right: np.ndarray, most: int) -> list[int]:
    """The places of the first wrong and of the first right predictions, in equal numbers if there are enough of both."""
    wrong, correct = np.flatnonzero(~right).tolist(), np.flatnonzero(right).tolist()
    shown = wrong[: max(most // 2, most - len(correct))]
    return [*shown, *correct[: most - len(shown)]]


def collect(run: Run, section: str) -> Section:
    """The scores of a task for one of SECTIONS; empty without held-out texts."""
    name, section_of = SECTIONS[section]
    held_out = find(run)
    if not isinstance(held_out, HeldOutTexts):
        return Section(notes=(f"no {name}: {held_out}",) if held_out else ())
    scores = run.task.scores(run.model, held_out.shard, run.spec.evaluation, examples=held_out.examples)
    return section_of(held_out, scores)


def _numbers(held_out: HeldOutTexts, scores: NumberScores) -> Section:
    truth, predictions = scores.truth, scores.prediction
    by_error = np.argsort(-np.abs(predictions - truth), kind="stable")
    largest = distinct(by_error, held_out.text, MOST_ERRORS)
    residuals = predictions - truth
    rows = [
        (held_out.text(index), f"{truth[index]:.5g}", f"{predictions[index]:.5g}", f"{residuals[index]:+.4g}")
        for index in largest
    ]
    errors = Table("Largest errors", ("text", "true", "predicted", "residual"), rows)
    return Section(regression=Regression(truth, predictions, held_out.where), errors=errors)


def _classes(held_out: HeldOutTexts, scores: LabelSetScores) -> Section:
    wrong = (scores.truth != scores.predicted).sum(1)
    by_errors = [index for index in np.argsort(-wrong, kind="stable") if wrong[index]]

    def names(chosen_C: np.ndarray) -> str:
        return ", ".join(scores.labels[index] for index in np.flatnonzero(chosen_C)) or "none"

    rows = [
        (held_out.text(index), names(scores.truth[index]), names(scores.predicted[index]))
        for index in distinct(by_errors, held_out.text, MOST_ERRORS)
    ]
    errors = Table("Texts with the most wrong classes", ("text", "true classes", "predicted classes"), rows)
    return Section(scores=ScoreTable("class", scores.counts, held_out.where), errors=errors if rows else None)


def _tags(held_out: HeldOutTexts, words: TaggedWords) -> Section:
    """With the first sentences with an error and the first without one, in equal numbers if there are enough of both."""
    right = ~np.isin(held_out.examples, words.example[~words.right])
    chosen = held_out.examples[wrong_and_right(right, MOST_SENTENCES)].tolist()
    heading = "entity" if words.mark_entities else "tag"
    return Section(
        scores=ScoreTable(heading, words.counts, held_out.where),
        tagged=tuple(_sentence(held_out, words, example) for example in chosen),
    )


def _sentence(held_out: HeldOutTexts, words: TaggedWords, example: int) -> TaggedSentence:
    document, first_tokens = held_out.documents[example], held_out.shard.first_tokens[example]
    scored = (first_tokens >= 0) & (first_tokens < held_out.run.whole_text_task.inputs.max_length)
    answers = iter(words.prediction[words.example == example].tolist())
    tagged = [
        TaggedWord(word, truth, words.labels[next(answers)] if within else None)
        for word, truth, within in zip(document.text.split(), document.fields["tags"].split(), scored, strict=True)
    ]
    return TaggedSentence(tuple(tagged[:MOST_WORDS]), len(tagged) > MOST_WORDS)


# Section -> what it shows, and the function of the scores that fills it.
SECTIONS: dict[str, tuple[str, Callable[[HeldOutTexts, Any], Section]]] = {
    "regression": ("predicted numbers", _numbers),
    "labels": ("scores of the classes", _classes),
    "tags": ("scores of the tags", _tags),
}


class ConfusionFile(TypedDict):
    step: Count
    confusion: Confusion
    mistakes: list[list[str]]


def confusion(run: Run) -> Section:
    """The confusion matrix of a classifier, and its most confident errors; empty without held-out data.

    They are stored in the run folder, so that a report can be made again after the data have moved.
    """
    done = run.folder.recorded_status() == Status.DONE
    if done and (stored := _read_confusion(run)):
        return stored
    held_out = find(run)
    if held_out is None:
        return Section()
    if isinstance(held_out, str):
        # The matrix from the stored predictions, without the texts of the errors, which only the data have.
        for split in ("test", "validation"):
            if PREDICTION in (values := item_values.read(run.folder, split)):
                return Section(notes=(f"no texts of errors: {held_out}",), confusion=_matrix(run, values, split))
        return Section(notes=(f"no confusion matrix: {held_out}",))
    values = item_values.read(run.folder, held_out.split) if done else {}
    if PREDICTION not in values:
        values = run.task.evaluate(run.model, held_out.shard, run.spec.evaluation).items
    matrix = _matrix(run, values, held_out.split)
    held_out = replace(held_out, examples=np.arange(held_out.shard.documents))
    truth, predicted, sizes, labels = values[TRUTH], values[PREDICTION], values[PROBABILITY], matrix.labels
    wrong = np.flatnonzero(truth != predicted)
    by_confidence = wrong[np.argsort(-sizes[wrong], kind="stable")]
    mistakes = [
        (held_out.text(index), labels[truth[index]], labels[predicted[index]], probability(float(sizes[index])))
        for index in distinct(by_confidence, held_out.text, MOST_ERRORS)
    ]
    if done:
        content = {"format": FORMAT, "step": run.final_step, "mistakes": mistakes}
        atomic_files.write_json(run.folder.confusion_file, {**content, "confusion": asdict(matrix)})
    return _section(matrix, mistakes)


def _section(matrix: Confusion, mistakes: Sequence[Sequence[str]]) -> Section:
    columns = ("text", "true class", "predicted class", "probability")
    return Section(confusion=matrix, errors=Table("Most confident errors", columns, mistakes) if mistakes else None)


def _matrix(run: Run, values: dict[str, np.ndarray], split: str) -> Confusion:
    counts = confusion_matrix(values[TRUTH], values[PREDICTION], len(run.task.labels))
    return Confusion(run.task.labels, counts.tolist(), f"{len(values[TRUTH]):,} {split} texts")


def _read_confusion(run: Run) -> Section | None:
    """The stored errors, if they belong to the weights that the run has now."""
    try:
        content = kept_json.read(run.folder.confusion_file, ConfusionFile)
    except (OSError, ValueError):
        return None
    kept = content["confusion"]
    if content["step"] != run.final_step or {len(kept.counts), *map(len, kept.counts)} != {len(kept.labels)}:
        return None
    return _section(kept, content["mistakes"])
