"""Baselines of translation: copying the source, and translating it word by word with a dictionary of the training pairs."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from glasshouse.baselines import word_alignment
from glasshouse.baselines.field_baselines import Examples, Method, Predict
from glasshouse.metrics import translation

# A word or a single other character. What stands between two of these stays as it is.
WORD = re.compile(r"\w+|[^\w\s]")


def copy(training: Examples) -> Callable[[float], Predict]:
    """The translation of a text is the text."""
    return lambda strength: lambda texts: list(texts)


def word_by_word(training: Examples) -> Callable[[float], Predict]:
    """Every word becomes its most likely translation (IBM model 1), in the order of the source. Unknown words stay."""
    sources, targets = ([WORD.findall(text) for text in side] for side in (training.texts, training.fields))
    translations = word_alignment.dictionary(sources, targets)

    def translate(text: str) -> str:
        return WORD.sub(lambda match: translations.get(match[0], match[0]), text)

    return lambda strength: lambda texts: [translate(text) for text in texts]


def score_translations(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """BLEU, chrF and exact matches, and whether each text is an exact match."""
    metrics = translation.scores(predictions, truth)
    exact = np.array([output == reference for output, reference in zip(predictions, truth, strict=True)], float)
    return {name: value for name, value in metrics.items() if name != "translated"}, {"exact": exact}


METHODS = (
    Method("copy", "copying the source", copy),
    Method("dictionary", "a dictionary, word by word", word_by_word, most_characters=2e6),
)
