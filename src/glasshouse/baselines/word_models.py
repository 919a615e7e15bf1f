"""Word by word: baselines of tagging and of translation.

Words and their tags are strings that are joined by single spaces. A text is translated with a dictionary by IBM model 1: how
likely a target word translates a source word, learned from pairs of sentences by EM. p(t | s) starts uniform. A step
distributes every target word over the source words of its sentence, in proportion to p(t | s), and normalises the sums
(Brown et al., 1993).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from glasshouse.baselines.field_baselines import Examples, Learn, Method, Values
from glasshouse.metrics.metric import Metrics
from glasshouse.metrics.translation import BLEU, CHRF, EXACT, WrittenTexts
from glasshouse.tasks.base import shares_of_ratio

STEPS = 8
# A sentence longer than this is cut, because its pairs of words are a square.
MOST_WORDS = 60
# Stands before every source sentence and takes the target words that translate no word.
NOTHING = ""
# A word or a single other character. What stands between two of these stays as it is.
WORD = re.compile(r"\w+|[^\w\s]")


def commonest_tag(training: Examples) -> Learn:
    tag = _commonest(Counter(tag for tags in training.fields for tag in tags.split(" ")))
    return lambda strength: lambda texts: [" ".join([tag] * len(text.split(" "))) for text in texts]


def tag_of_word(training: Examples) -> Learn:
    """Every word has its commonest tag. An unknown word has the commonest tag of the words that occur once."""
    tags_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text, tags in zip(training.texts, training.fields, strict=True):
        for word, tag in zip(text.split(" "), tags.split(" "), strict=True):
            tags_of[word][tag] += 1
    once: Counter[str] = Counter()
    for counts in tags_of.values():
        if counts.total() == 1:
            once += counts
    unknown = _commonest(once or sum(tags_of.values(), Counter()))
    known = {word: _commonest(counts) for word, counts in tags_of.items()}
    return lambda strength: lambda texts: [" ".join(known.get(word, unknown) for word in text.split(" ")) for text in texts]


def score_tags(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], Values]:
    right, words = np.zeros(len(truth)), np.zeros(len(truth))
    for place, (true, predicted) in enumerate(zip(truth, predictions, strict=True)):
        pairs = list(zip(true.split(" "), predicted.split(" "), strict=True))
        right[place], words[place] = sum(tag == answer for tag, answer in pairs), len(pairs)
    return {"accuracy": float(right.sum() / words.sum())}, {"accuracy": shares_of_ratio(right, words.sum())}


def _commonest(counts: "Counter[str]") -> str:
    return counts.most_common(1)[0][0]


def copy(training: Examples) -> Learn:
    return lambda strength: lambda texts: list(texts)


def word_by_word(training: Examples) -> Learn:
    """Every word becomes its most likely translation (IBM model 1), in the order of the source. Unknown words stay."""
    sources, targets = ([WORD.findall(text) for text in side] for side in (training.texts, training.fields))
    translations = dictionary(sources, targets)

    def translate(text: str) -> str:
        return WORD.sub(lambda match: translations.get(match[0], match[0]), text)

    return lambda strength: lambda texts: [translate(text) for text in texts]


def score_translations(truth: Sequence[str], predictions: Sequence[str]) -> tuple[dict[str, float], Values]:
    return Metrics([BLEU, CHRF, EXACT]).results(WrittenTexts(predictions, truth))


def dictionary(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], steps: int = STEPS) -> dict[str, str]:
    source_names, source_rows = _numbered([[NOTHING, *words[:MOST_WORDS]] for words in sources])
    target_names, target_rows = _numbered([list(words[:MOST_WORDS]) for words in targets])
    left, right, place = _cooccurrences(source_rows, target_rows)
    if not len(left):
        raise ValueError("no training pair has a word on both sides")
    pairs, pair_of = np.unique(left * len(target_names) + right, return_inverse=True)
    source_of = pairs // len(target_names)
    probability = np.ones(len(pairs))
    for _ in range(steps):
        weight = probability[pair_of]
        expected = np.bincount(pair_of, weight / np.bincount(place, weight)[place])
        probability = expected / np.bincount(source_of, expected)[source_of]
    # Sorted by source, then by probability: the last pair of each source is its best.
    order = np.lexsort((probability, source_of))
    last = np.flatnonzero(np.diff(source_of[order], append=-1))
    best = pairs[order[last]]
    words = zip((best // len(target_names)).tolist(), (best % len(target_names)).tolist(), strict=True)
    return {source_names[source]: target_names[target] for source, target in words if source_names[source] != NOTHING}


def _numbered(rows: list[list[str]]) -> tuple[list[str], list[np.ndarray]]:
    """The different words in order of their first occurrence, and the rows as numbers."""
    numbers: dict[str, int] = {}
    numbered = [np.array([numbers.setdefault(word, len(numbers)) for word in row], np.int64) for row in rows]
    return list(numbers), numbered


def _cooccurrences(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each pair of words of a sentence pair: the source word, the target word, and which occurrence of it this is."""
    left = [np.tile(source, len(target)) for source, target in zip(sources, targets, strict=True)]
    right = [np.repeat(target, len(source)) for source, target in zip(sources, targets, strict=True)]
    repeats = np.concatenate([[len(source)] * len(target) for source, target in zip(sources, targets, strict=True)])
    place = np.repeat(np.arange(len(repeats)), repeats.astype(np.int64))
    return np.concatenate(left), np.concatenate(right), place


TAGGERS = (
    Method("commonest-tag", "the commonest tag of the training texts", commonest_tag),
    Method("tag-of-word", "the commonest tag of each word", tag_of_word),
)
TRANSLATORS = (
    Method("copy", "copying the source", copy),
    Method("dictionary", "a dictionary, word by word", word_by_word, most_characters=2e6),
)
