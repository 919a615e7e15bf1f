"""Scores on held-out texts for a report, and the texts with the largest errors: of numbers, of several classes, of tags."""

from collections.abc import Callable
from typing import Any

import numpy as np

from glasshouse.inspection import held_out_texts
from glasshouse.inspection.held_out_texts import HeldOutTexts, Section
from glasshouse.results.report import LabelledText, PredictedNumber, Regression, ScoreTable, TaggedSentence, TaggedWord
from glasshouse.runs.run import Run
from glasshouse.tasks.multi_label import LabelSetScores
from glasshouse.tasks.regress import NumberScores
from glasshouse.tasks.tag import TaggedWords

MOST_ERRORS = 5
MOST_SENTENCES = 8
MOST_WORDS = 60


def collect(run: Run, section: str) -> Section:
    """The scores of a task for one of SECTIONS; empty without held-out texts."""
    name, section_of = SECTIONS[section]
    held_out = held_out_texts.find(run)
    if not isinstance(held_out, HeldOutTexts):
        return Section((f"no {name}: {held_out}",) if held_out else ())
    scores = run.task.scores(run.model, held_out.shard, run.spec.evaluation, examples=held_out.examples)
    return section_of(held_out, scores)


def _numbers(held_out: HeldOutTexts, scores: NumberScores) -> Section:
    truth, predictions = scores.truth, scores.prediction
    by_error = np.argsort(-np.abs(predictions - truth), kind="stable")
    largest = held_out_texts.distinct(by_error, held_out.text, MOST_ERRORS)
    errors = [PredictedNumber(held_out.text(index), float(truth[index]), float(predictions[index])) for index in largest]
    return Section(regression=Regression(truth, predictions, held_out.where, tuple(errors)))


def _classes(held_out: HeldOutTexts, scores: LabelSetScores) -> Section:
    wrong = (scores.truth != scores.predicted).sum(1)
    by_errors = [index for index in np.argsort(-wrong, kind="stable") if wrong[index]]

    def names(chosen_C: np.ndarray) -> tuple[str, ...]:
        return tuple(scores.labels[index] for index in np.flatnonzero(chosen_C))

    errors = [
        LabelledText(held_out.text(index), names(scores.truth[index]), names(scores.predicted[index]))
        for index in held_out_texts.distinct(by_errors, held_out.text, MOST_ERRORS)
    ]
    return Section(scores=ScoreTable("class", scores.counts, held_out.where), label_errors=tuple(errors))


def _tags(held_out: HeldOutTexts, words: TaggedWords) -> Section:
    """With the first sentences with an error and the first without one, in equal numbers if there are enough of both."""
    wrong = set(words.example[~words.right].tolist())
    with_errors = [example for example in held_out.examples.tolist() if example in wrong]
    without = [example for example in held_out.examples.tolist() if example not in wrong]
    half = max(MOST_SENTENCES // 2, MOST_SENTENCES - len(without))
    chosen = [*with_errors[:half], *without[: MOST_SENTENCES - min(half, len(with_errors))]]
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
