"""Scores of each tag or kind of entity on held-out texts, and some tagged sentences."""

from dataclasses import dataclass

from glasshouse.inspection import held_out_texts
from glasshouse.inspection.held_out_texts import HeldOutTexts
from glasshouse.results.report import ScoreTable, TaggedSentence, TaggedWord
from glasshouse.runs.run import Run
from glasshouse.tasks.tag import Tag, TaggedWords

MOST_SENTENCES = 8
MOST_WORDS = 60


@dataclass(frozen=True)
class TagScores:
    """The scores of a tagger for its report. If there are none, `notes` says why."""

    scores: ScoreTable | None = None
    sentences: tuple[TaggedSentence, ...] = ()
    notes: tuple[str, ...] = ()


def collect(run: Run) -> TagScores | None:
    """The scores on held-out texts; None without any."""
    held_out = held_out_texts.find(run)
    if held_out is None:
        return None
    if isinstance(held_out, str):
        return TagScores(notes=(f"no scores of the tags: {held_out}",))
    task = run.task
    assert isinstance(task, Tag)
    words: TaggedWords = task.scores(run.model, held_out.shard, run.spec.evaluation, examples=held_out.examples)
    heading = "entity" if words.mark_entities else "tag"
    return TagScores(ScoreTable(heading, words.counts, held_out.where), _sentences(task, held_out, words))


def _sentences(task: Tag, held_out: HeldOutTexts, words: TaggedWords) -> tuple[TaggedSentence, ...]:
    """The first sentences with an error and the first without one, in equal numbers if there are enough of both."""
    wrong = set(words.example[~words.right].tolist())
    with_errors = [example for example in held_out.examples.tolist() if example in wrong]
    without = [example for example in held_out.examples.tolist() if example not in wrong]
    half = max(MOST_SENTENCES // 2, MOST_SENTENCES - len(without))
    chosen = [*with_errors[:half], *without[: MOST_SENTENCES - min(half, len(with_errors))]]
    return tuple(_sentence(task, held_out, words, example) for example in chosen)


def _sentence(task: Tag, held_out: HeldOutTexts, words: TaggedWords, example: int) -> TaggedSentence:
    document, first_tokens = held_out.documents[example], held_out.shard.first_tokens[example]
    scored = (first_tokens >= 0) & (first_tokens < task.inputs.max_length)
    answers = iter(words.prediction[words.example == example].tolist())
    tagged = [
        TaggedWord(word, truth, task.labels[next(answers)] if within else None)
        for word, truth, within in zip(document.text.split(), document.fields["tags"].split(), scored, strict=True)
    ]
    return TaggedSentence(tuple(tagged[:MOST_WORDS]), len(tagged) > MOST_WORDS)
