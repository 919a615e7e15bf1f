"""Passages that a language model writes beside those that really follow: words, repetition, copying, keeping to a subject.

All measures are of words between spaces, by passage; none knows what a passage means.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from glasshouse.data import prepared_data
from glasshouse.records import atomic_files
from glasshouse.runs.run import Run
from glasshouse.specs.spec import DataSpec

# What is measured of a passage, and how it is told.
SHARES = {
    "known": "words that stand in the training text",
    "repeated": "runs of four words that stood in the passage before",
    "copied": "runs of eight words that stand in the training text",
    "kept": "rarer words of the second half that stood in the first or before it",
}
RUN, COPY = 4, 8
# The commonest words say little of a subject.
COMMON = 1000
PROMPT = 32


def compare(runs: Sequence[Run], count: int, length: int) -> dict[str, dict[str, list[float]]]:
    """Who wrote it -> measure -> passages: of each beginning from the test text the mean over the runs, and the real one."""
    splits = prepared_data.prepare(runs[0].spec.data, runs[0].tokenizer).splits
    tokens = np.asarray(splits["test"].tokens, np.int64)
    tokens = tokens[~np.isin(tokens, list(splits["test"].marks))]
    length = min(length, (len(tokens) - PROMPT) // 2)
    starts = np.linspace(0, len(tokens) - PROMPT - length, count).astype(int)
    decode = runs[0].tokenizer.decode
    prompts = [decode(tokens[start : start + PROMPT]) for start in starts]
    learned = [document.text for document in prepared_data.source_of(runs[0].spec.data).documents("train")]
    measure = Measure(learned)
    real = [decode(tokens[start + PROMPT : start + PROMPT + length]) for start in starts]
    each = [
        measure.all(prompts, [sample.text for sample in run.sample(prompts, tokens=length, seed=number)])
        for number, run in enumerate(runs)
    ]
    mean = {name: np.mean([one[name] for one in each], axis=0).tolist() for name in SHARES}
    return {"written": mean, "real": measure.all(prompts, real)}


class Measure:
    """The measures, given the text that was learned from."""

    def __init__(self, learned: Iterable[str]) -> None:
        words = [word for text in learned for word in text.split()]
        counts = Counter(words)
        self.lexicon = set(counts)
        self.common = {word for word, _ in counts.most_common(COMMON)}
        self.copies = set(_hashes(words, COPY))

    def all(self, prompts: Sequence[str], passages: Sequence[str]) -> dict[str, list[float]]:
        """Measure -> its share in each passage; 0 where there is nothing to take a share of."""
        found: dict[str, list[float]] = {name: [] for name in SHARES}
        for prompt, passage in zip(prompts, passages, strict=True):
            words = passage.split()[1:-1]  # those at its ends may be parts of words
            half = len(words) // 2
            before = {*prompt.split(), *words[:half]}
            rarer = [word for word in words[half:] if word not in self.common]
            found["known"].append(_share([word in self.lexicon for word in words]))
            found["repeated"].append(repeated(words))
            found["copied"].append(_share([run in self.copies for run in _hashes(words, COPY)]))
            found["kept"].append(_share([word in before for word in rarer]))
        return found


def repeated(words: Sequence[str]) -> float:
    """The share of runs of words that stood there before."""
    runs = [tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def excerpt(folder: Path, source: str, size: int = 120_000) -> str:
    """The path of a file with the beginning of a source's training text, for a quick look."""
    path = folder / "excerpt.txt"
    if not path.exists():
        documents = prepared_data.source_of(DataSpec(source=source)).documents("train")
        atomic_files.write_text(path, next(documents).text[:size])
    return str(path.absolute())


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers) if len(answers) else 0.0


def _hashes(words: Sequence[str], length: int) -> list[int]:
    """A number for each run of words; equal runs have equal numbers within this process."""
    return [hash(run) for run in zip(*(words[start:] for start in range(length)), strict=False)]
