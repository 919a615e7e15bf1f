"""Trivial opponents of a Pig Latin translator: copy the word, append `way`, or know the frequent characters of Pig Latin.

None of them is trained by gradient descent, and none needs a GPU. They read the same lists as the trained models.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from glasshouse.baselines.language_models import NGramModel
from glasshouse.data.documents import Document
from glasshouse.specs import catalogue

TRIGRAM = 3
# Stands for the beginning and the end of a word. No word contains it.
_END = "\n"


def score_trivially(source: str) -> dict[str, float]:
    """The scores on the test words of a source: shares of words exactly right, and the loss of a trigram model.

    The trigram model has seen the translations of the training words and never sees the word to translate. Its loss counts
    the characters of the translation and its end, as the loss of a trained model does.
    """
    data = catalogue.find("source", source)()
    training, test = ([_pair(document) for document in data.documents(split)] for split in ("train", "test"))
    return {
        "copy": share_right((word, translation) for word, translation in test),
        "way": share_right((f"{word}way", translation) for word, translation in test),
        "trigram": trigram_loss([translation for _, translation in training], [translation for _, translation in test]),
    }


def share_right(pairs: Iterable[tuple[str, str]]) -> float:
    """The share of the pairs (output, reference) that are equal."""
    return float(np.mean([output == reference for output, reference in pairs]))


def trigram_loss(training: Sequence[str], texts: Sequence[str]) -> float:
    """Nats per character of the texts, ends included, of a smoothed trigram model of the training texts."""
    characters = sorted({_END, *"".join(training), *"".join(texts)})
    numbers = {character: number for number, character in enumerate(characters)}

    def tokens(words: Sequence[str]) -> np.ndarray:
        joined = _END + "".join(f"{word}{_END}" for word in words)
        return np.array([numbers[character] for character in joined], np.int64)

    return float(NGramModel(tokens(training), len(characters), TRIGRAM).nats(tokens(texts)).mean())


def _pair(document: Document) -> tuple[str, str]:
    return document.text, document.fields["target"]
