"""How much two texts have in common: words, stems, n-grams, the longest common subsequence. Pure functions of texts."""

import re
from collections.abc import Sequence
from functools import lru_cache

# The length of an n-gram in words.
NGRAM = 3
# English words that say nothing of what a text is about.
_FUNCTION_WORDS = (
    "a about above after again against all also although am among an and any are as at be because been before being "
    "below between both but by can could did do does doing down during each either else even ever every few first for "
    "from further get gets had has have having he her here hers herself him himself his how however i if in into is "
    "it its itself just let like made make makes many may me might more most much must my myself neither no nor not "
    "of off on once one only or other our ours ourselves out over own per said same say says she should since so some "
    "such than that the their theirs them themselves then there these they thing things this those through to too "
    "under until up upon us very was we were what when where whether which while who whom whose why will with within "
    "without would yet you your yours yourself another around cannot don doesn didn isn aren wasn weren won wouldn "
    "shouldn couldn hasn haven ll re ve"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case. An apostrophe is part of its word; a hyphen separates two words."""
    return tuple(word.lower() for word, _, _ in word_places(text))


def word_places(text: str) -> list[tuple[str, int, int]]:
    """The words of a text as they are written, with the places in the text where each begins and ends."""
    found = re.finditer(r"\w+(?:'\w+)*", text.replace("\u2019", "'"))
    return [(match.group(), match.start(), match.end()) for match in found]


def stem(word: str) -> str:
    """A word without a plural or verb ending: cars -> car, driving and drives -> driv. Stems have at least three letters."""
    word = word.removesuffix("'s")
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            # stopping -> stop
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


@lru_cache(maxsize=4096)
def content_stems(text: str) -> tuple[str, ...]:
    """The stems of all words that are no function words, in the order of the text."""
    return tuple(stem(word) for word in words(text) if word not in FUNCTION_WORDS and word.removesuffix("n't") == word)


@lru_cache(maxsize=4096)
def ngrams(text: str, length: int = NGRAM) -> frozenset[tuple[str, ...]]:
    """The distinct n-grams of words. A text that is shorter than `length` is one n-gram; an empty text has none."""
    found = words(text)
    if not found:
        return frozenset()
    return frozenset(found[i : i + length] for i in range(max(len(found) - length + 1, 1)))


def ngram_overlap(first: str, second: str, length: int = NGRAM) -> float:
    """The Jaccard index of the n-grams: 1 for the same words in the same order, 0 if no n-gram is shared."""
    return jaccard(ngrams(first, length), ngrams(second, length))


def jaccard(first: frozenset[object], second: frozenset[object]) -> float:
    """The share of elements of either set that are in both. Two empty sets are equal: 1."""
    union = len(first | second)
    return len(first & second) / union if union else 1.0


def loop_share(text: str, length: int = NGRAM) -> float:
    """The share of n-grams that occurred earlier in the same text: high if a text goes round in circles."""
    count = len(words(text)) - length + 1
    return 1 - len(ngrams(text, length)) / count if count > 0 else 0.0


def repeated_words(text: str, others: Sequence[str], length: int) -> list[bool]:
    """For each word of a text, whether it is in an n-gram of this length that one of the other texts has too."""
    found, known = words(text), frozenset().union(*(ngrams(other, length) for other in others))
    marked = [False] * len(found)
    for start in range(len(found) - length + 1):
        if found[start : start + length] in known:
            marked[start : start + length] = [True] * length
    return marked
