"""Passages after prompts from a test text, written or real, and measures of them. Knows nothing of models.

Most measures are shares of words between spaces, or of n-grams of words, per passage. None of them measures meaning.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.data.shards import Shard
from glasshouse.tokenizers import Tokenizer

# The length of the n-grams of words that count as repeated in the passage or as copied from the training text.
REPEATED_LENGTH, COPIED_LENGTH = 4, 8
# Each measure of a passage, with its description.
MEASURES = {
    "known": "words that occur in the training text",
    "repeated": "4-grams of words that occur earlier in the passage",
    "brackets": "round brackets out of order",
    "copied": "8-grams of words that occur in the training text",
    "kept": "rarer words of the second half that occur in the first half or in the prompt",
}
# The most frequent words say little about a topic.
COMMON_WORDS = 1000
PROMPT_TOKENS = 32


@dataclass(frozen=True)
class Prompts:
    """Beginnings of passages from a test text, as tokens and as text, and the passages that really follow."""

    tokens: tuple[np.ndarray, ...]
    texts: tuple[str, ...]
    real: tuple[str, ...]
    length: int  # tokens of a passage


def take_prompts(shard: Shard, tokenizer: Tokenizer, count: int, length: int) -> Prompts:
    """Prompts at equal distances in a text. A short text has shorter passages."""
    tokens = without_separators(shard)
    length = min(length, (len(tokens) - PROMPT_TOKENS) // 2)
    starts = np.linspace(0, len(tokens) - PROMPT_TOKENS - length, count).astype(int)
    beginnings = tuple(tokens[start : start + PROMPT_TOKENS] for start in starts)
    continuations = (tokens[start + PROMPT_TOKENS : start + PROMPT_TOKENS + length] for start in starts)
    texts, real = (tuple(tokenizer.decode(part) for part in parts) for parts in (beginnings, continuations))
    return Prompts(beginnings, texts, real, length)


def without_separators(shard: Shard) -> np.ndarray:
    """The tokens of a split without those between documents."""
    tokens = np.asarray(shard.tokens, np.int64)
    return tokens[~np.isin(tokens, list(shard.separators))]


class PassageMeasure:
    """Measures passages against a training text."""

    def __init__(self, training_texts: Iterable[str]) -> None:
        words = [word for text in training_texts for word in text.split()]
        counts = Counter(words)
        self.known_words = set(counts)
        self.common_words = {word for word, _ in counts.most_common(COMMON_WORDS)}
        self.training_ngrams = set(_ngram_hashes(words, COPIED_LENGTH))

    def measure(self, prompts: Sequence[str], passages: Sequence[str]) -> dict[str, list[float]]:
        """Measure -> its value for each passage. The share of an empty set is 0."""
        values: dict[str, list[float]] = {name: [] for name in MEASURES}
        for prompt, passage in zip(prompts, passages, strict=True):
            words = passage.split()[1:-1]  # the words at both ends may be incomplete
            half = len(words) // 2
            earlier = {*prompt.split(), *words[:half]}
            rarer = [word for word in words[half:] if word not in self.common_words]
            values["known"].append(_share([word in self.known_words for word in words]))
            values["repeated"].append(repeated_share(words))
            values["brackets"].append(float(bracket_errors(prompt.split(), words)))
            copied = [ngram in self.training_ngrams for ngram in _ngram_hashes(words, COPIED_LENGTH)]
            values["copied"].append(_share(copied))
            values["kept"].append(_share([word in earlier for word in rarer]))
        return values


def repeated_share(words: Sequence[str]) -> float:
    """The share of n-grams of words that have occurred before."""
    ngrams = [tuple(words[start : start + REPEATED_LENGTH]) for start in range(len(words) - REPEATED_LENGTH + 1)]
    return 1 - len(set(ngrams)) / len(ngrams) if ngrams else 0.0


def bracket_errors(prompt: Sequence[str], words: Sequence[str]) -> int:
    """The number of brackets that close nothing or open within an open one. The prompt may have left one open.

    A bracket that is still open at the end is no error, because the passage was cut there.
    """
    is_open, errors = False, 0
    for place, word in enumerate([*prompt, *words]):
        if word in ("(", ")"):
            errors += place >= len(prompt) and (word == "(") == is_open
            is_open = word == "("
    return errors


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers) if len(answers) else 0.0


def _ngram_hashes(words: Sequence[str], length: int) -> list[int]:
    """The hash of each n-gram of words. Hashes are comparable within one process only."""
    return [hash(ngram) for ngram in zip(*(words[start:] for start in range(length)), strict=False)]
