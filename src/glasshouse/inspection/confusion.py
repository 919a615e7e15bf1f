"""What a classifier takes for what: a confusion table of its held-out texts, and the mistakes that it is surest of."""

from dataclasses import dataclass

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.metrics.classification import confusion
from glasshouse.pages.report_content import Confusion, Mistake
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tasks.classify import Classify

# Reading more takes longer than anybody waits for a page; and more than a few mistakes are not read.
MOST_TEXTS = 5000
MOST_MISTAKES = 5
MOST_CHARACTERS = 240


@dataclass(frozen=True)
class ClassifierErrors:
    """What there is to show, and what a person should know where there is nothing."""

    confusion: Confusion | None = None
    mistakes: tuple[Mistake, ...] = ()
    notes: tuple[str, ...] = ()


def look(run: Run) -> ClassifierErrors | None:
    """On the test texts of a classifier, or on its validation texts where it has no others; None where it has no data."""
    data = run.spec.data
    if not (data.source or data.files):
        return None
    try:
        prepared = prepared_data.prepare(data, run.tokenizer, columns=Classify.columns)
    except (GlasshouseError, OSError) as error:
        return ClassifierErrors(notes=(f"there is no table of its mistakes: {error}",))
    if run.facts.get("data", prepared.fingerprint) != prepared.fingerprint:
        return ClassifierErrors(notes=("there is no table of its mistakes: its text has changed since it was trained",))
    split = next((split for split in ("test", "validation") if prepared.splits[split].documents), None)
    if split is None:
        return None
    task, shard = run.task, prepared.splits[split]
    assert isinstance(task, Classify)
    examples = np.arange(shard.documents)
    if shard.documents > MOST_TEXTS:
        examples = np.linspace(0, shard.documents - 1, MOST_TEXTS).round().astype(np.int64)
    shares = task.probabilities(run.model, shard, examples, run.spec.evaluation.batch)
    truth, answers = np.asarray(shard.labels[examples], np.int64), shares.argmax(1)
    some = f"{len(examples):,} of {shard.documents:,}" if len(examples) < shard.documents else f"{len(examples):,}"
    table = Confusion(task.labels, confusion(truth, answers, len(task.labels)), f"{some} {split} texts")
    wrong = np.flatnonzero(truth != answers)
    surest = wrong[np.argsort(-shares[wrong, answers[wrong]], kind="stable")[:MOST_MISTAKES]]
    texts = [document.text for document in prepared_data.source_of(data, Classify.columns).documents(split)]
    mistakes = [
        Mistake(_short(texts[examples[i]]), task.labels[truth[i]], task.labels[answers[i]], float(shares[i, answers[i]]))
        for i in surest
    ]
    return ClassifierErrors(table, tuple(mistakes))


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"
