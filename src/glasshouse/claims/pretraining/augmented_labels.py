"""Few labelled texts, enlarged: with paraphrases by a masked model, with randomly replaced words, or with plain copies.

A classifier is trained on each enlarged set. Validation texts choose its regularisation, because cross-validation would put
copies of one text into both parts of a fold. Knows no claim.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from glasshouse.generation.paraphrase import paraphrase
from glasshouse.generation.sampling_options import Sampling
from glasshouse.inspection import feature_classifiers
from glasshouse.inspection.labelled_texts import LabelledTexts
from glasshouse.runs.run import Run

# Copies of each labelled text, and the share of their words that is replaced.
COPIES, SHARE = 4, 0.15
STRENGTHS = (0.1, 1.0, 10.0)
FEW, PARAPHRASES, REPLACEMENTS, PLAIN_COPIES = "few", "paraphrases", "replacements", "copies"
WORD = re.compile(r"\w+")

Vectors = Callable[[tuple[str, ...]], Any]  # texts -> one row for each
VectorsFrom = Callable[[tuple[str, ...]], Vectors]  # training texts -> vectors of any texts


@dataclass(frozen=True)
class TextSplits:
    """The labelled texts of a data set by split."""

    training: LabelledTexts
    validation: LabelledTexts
    test: LabelledTexts


def draw_labels(rows: LabelledTexts, per_class: int, generator: random.Random) -> LabelledTexts:
    """This many random texts of each class, or all of a class that has fewer."""
    by_class: dict[str, list[str]] = {}
    for text, label in zip(rows.texts, rows.labels, strict=True):
        by_class.setdefault(label, []).append(text)
    drawn = [
        (text, label)
        for label, texts in sorted(by_class.items())
        for text in generator.sample(texts, min(per_class, len(texts)))
    ]
    return LabelledTexts(tuple(text for text, _ in drawn), tuple(label for _, label in drawn))


def with_copies(rows: LabelledTexts, copies: Sequence[Sequence[str]]) -> LabelledTexts:
    """Each text followed by copies of it with the same label."""
    texts = [text for original, changed in zip(rows.texts, copies, strict=True) for text in (original, *changed)]
    labels = [label for label, changed in zip(rows.labels, copies, strict=True) for _ in range(1 + len(changed))]
    return LabelledTexts(tuple(texts), tuple(labels))


def replace_words(text: str, words: Sequence[str], generator: random.Random) -> str:
    """The text with SHARE of its words, at least one, replaced by random ones of `words`."""
    places = [match.span() for match in WORD.finditer(text)]
    chosen = set(generator.sample(range(len(places)), min(len(places), max(1, round(SHARE * len(places))))))
    pieces, end = [], 0
    for index, (start, stop) in enumerate(places):
        pieces += [text[end:start], generator.choice(words) if index in chosen else text[start:stop]]
        end = stop
    return "".join([*pieces, text[end:]])


def enlarge(rows: LabelledTexts, run: Run, words: Sequence[str], seed: int) -> dict[str, LabelledTexts]:
    """The sets of training texts: the few, and the few with COPIES of each that are changed in different ways."""
    generator = random.Random(seed)
    options = (run.spec.data.context, COPIES, SHARE, Sampling(seed=seed))
    paraphrases = paraphrase(run.model, run.tokenizer, rows.texts, *options)
    return {
        FEW: rows,
        PARAPHRASES: with_copies(rows, [[copy.text for copy in copies] for copies in paraphrases]),
        REPLACEMENTS: with_copies(
            rows, [[replace_words(text, words, generator) for _ in range(COPIES)] for text in rows.texts]
        ),
        PLAIN_COPIES: with_copies(rows, [[text] * COPIES for text in rows.texts]),
    }


def word_vectors(training: tuple[str, ...]) -> Vectors:
    """Counts of the words that occur in the training texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer().fit(training)
    return lambda texts: vectorizer.transform(texts)


def feature_vectors(run: Run) -> VectorsFrom:
    """The mean features of a run, standardised by those of the training texts."""

    @cache
    def embed(texts: tuple[str, ...]) -> np.ndarray:
        vectors: np.ndarray = run.embed(texts, "mean", 256).float().cpu().numpy()
        return vectors

    def standardised(training: tuple[str, ...]) -> Vectors:
        mean, deviation = embed(training).mean(0), embed(training).std(0) + 1e-6
        return lambda texts: (embed(texts) - mean) / deviation

    return standardised


def hits(vectors: Vectors, rows: LabelledTexts, splits: TextSplits) -> list[float]:
    """1 for each test text that a logistic regression on these rows labels correctly, otherwise 0."""
    from threadpoolctl import threadpool_limits  # a dependency of scikit-learn

    known, validation = vectors(rows.texts), vectors(splits.validation.texts)
    best, best_share = None, -1.0
    with threadpool_limits(1):
        for strength in STRENGTHS:
            classifier = feature_classifiers.new_classifiers()[feature_classifiers.LOGISTIC_REGRESSION]
            classifier.set_params(C=strength).fit(known, rows.labels)
            share = float(np.mean(classifier.predict(validation) == np.array(splits.validation.labels)))
            if share > best_share:
                best, best_share = classifier, share
    assert best is not None
    return [float(hit) for hit in best.predict(vectors(splits.test.texts)) == np.array(splits.test.labels)]


def all_hits(
    run: Run, splits: TextSplits, counts: Sequence[int], vectors_from: Mapping[str, VectorsFrom]
) -> dict[str, list[float]]:
    """`CLASSIFIER/SET/COUNT` -> hits, for labels that the run's seed draws."""
    seed = run.spec.training.seed
    words = [word for text in splits.training.texts for word in WORD.findall(text)]
    found = {}
    for count in counts:
        sets = enlarge(draw_labels(splits.training, count, random.Random(seed)), run, words, seed)
        for name, rows in sets.items():
            for kind, vectors in vectors_from.items():
                found[f"{kind}/{name}/{count}"] = hits(vectors(rows.texts), rows, splits)
    return found
