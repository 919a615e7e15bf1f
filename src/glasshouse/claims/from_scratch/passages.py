"""Passages written by a language model, compared with the real continuations: known words, repetition, copying, topic.

All measures are shares of words between spaces, or of n-grams of words, per passage. None of them measures meaning.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.specs.spec import DataSpec

# The length of the n-grams of words that count as repeated in the passage or as copied from the training text.
REPEATED_LENGTH, COPIED_LENGTH = 4, 8
# Each measure of a passage, with its description.
SHARES = {
    "known": "words that occur in the training text",
    "repeated": "4-grams of words that occur earlier in the passage",
    "copied": "8-grams of words that occur in the training text",
    "kept": "rarer words of the second half that occur in the first half or in the prompt",
}
# The most frequent words say little about a topic.
COMMON_WORDS = 1000
PROMPT_TOKENS = 32


def compare(runs: Sequence[Run], count: int, length: int) -> dict[str, dict[str, list[float]]]:
    """ "written" or "real" -> measure -> its value for each passage.

    The prompts are taken from the test text. "written" has the means over the runs, "real" the continuations in the text.
    """
    splits = prepared_data.prepare(runs[0].spec.data, runs[0].tokenizer).splits
    tokens = np.asarray(splits["test"].tokens, np.int64)
    tokens = tokens[~np.isin(tokens, list(splits["test"].separators))]
    length = min(length, (len(tokens) - PROMPT_TOKENS) // 2)
    starts = np.linspace(0, len(tokens) - PROMPT_TOKENS - length, count).astype(int)
    decode = runs[0].tokenizer.decode
    prompts = [decode(tokens[start : start + PROMPT_TOKENS]) for start in starts]
    training_texts = [document.text for document in prepared_data.find_source(runs[0].spec.data).documents("train")]
    measure = PassageMeasure(training_texts)
    real = [decode(tokens[start + PROMPT_TOKENS : start + PROMPT_TOKENS + length]) for start in starts]
    by_run = [
        measure.shares(prompts, [sample.text for sample in run.sample(prompts, tokens=length, seed=number)])
        for number, run in enumerate(runs)
    ]
    means = {name: np.mean([shares[name] for shares in by_run], axis=0).tolist() for name in SHARES}
    return {"written": means, "real": measure.shares(prompts, real)}


class PassageMeasure:
    """Measures passages against a training text."""

    def __init__(self, training_texts: Iterable[str]) -> None:
        words = [word for text in training_texts for word in text.split()]
        counts = Counter(words)
        self.known_words = set(counts)
        self.common_words = {word for word, _ in counts.most_common(COMMON_WORDS)}
        self.training_ngrams = set(_ngram_hashes(words, COPIED_LENGTH))

    def shares(self, prompts: Sequence[str], passages: Sequence[str]) -> dict[str, list[float]]:
        """Measure -> its value for each passage. The share of an empty set is 0."""
        shares: dict[str, list[float]] = {name: [] for name in SHARES}
        for prompt, passage in zip(prompts, passages, strict=True):
            words = passage.split()[1:-1]  # the words at both ends may be incomplete
            half = len(words) // 2
            earlier = {*prompt.split(), *words[:half]}
            rarer = [word for word in words[half:] if word not in self.common_words]
            shares["known"].append(_share([word in self.known_words for word in words]))
            shares["repeated"].append(repeated_share(words))
            copied = [ngram in self.training_ngrams for ngram in _ngram_hashes(words, COPIED_LENGTH)]
            shares["copied"].append(_share(copied))
            shares["kept"].append(_share([word in earlier for word in rarer]))
        return shares


def repeated_share(words: Sequence[str]) -> float:
    """The share of n-grams of words that have occurred before."""
    ngrams = [tuple(words[start : start + REPEATED_LENGTH]) for start in range(len(words) - REPEATED_LENGTH + 1)]
    return 1 - len(set(ngrams)) / len(ngrams) if ngrams else 0.0


def write_excerpt(folder: Path, source: str, size: int = 120_000) -> str:
    """Write the beginning of a source's training text to a file, for a quick run, and return its path."""
    path = folder / "excerpt.txt"
    if not path.exists():
        documents = prepared_data.find_source(DataSpec(source=source)).documents("train")
        atomic_files.write_text(path, next(documents).text[:size])
    return str(path.absolute())


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers) if len(answers) else 0.0


def _ngram_hashes(words: Sequence[str], length: int) -> list[int]:
    """The hash of each n-gram of words. Hashes are comparable within one process only."""
    return [hash(ngram) for ngram in zip(*(words[start:] for start in range(length)), strict=False)]
