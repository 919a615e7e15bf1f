"""How the words of an explained text are shown: those that raise the prediction are shaded, others are underlined."""

import math
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.results.report import ExplainedText

SHADES = 5
# Words whose contribution is written below them.
MOST_NUMBERS = 6
# The smallest contribution that is worth writing, and what the largest must reach for the darkest shade: in points of
# probability, and of a predicted number in standard deviations of the training data.
SMALLEST_POINTS, WEAK_POINTS = 0.5, 10.0
SMALLEST_DEVIATIONS, WEAK_DEVIATIONS = 0.02, 0.2


@dataclass(frozen=True)
class ShadedWord:
    """A word with its shade (0: none), and its contribution if it is among the largest."""

    text: str
    shade: int
    against: bool
    contribution: str
    title: str


def shade_words(explained: ExplainedText) -> tuple[list[ShadedWord], list[ShadedWord]]:
    """The words of a text, and those of the second text of a pair.

    Shades are relative to the largest contribution in both, unless all are weak.
    """
    words = [*explained.words, *explained.second]
    if explained.deviation is None:
        sizes = [100 * word.contribution for word in words]
        smallest, weak, texts = SMALLEST_POINTS, WEAK_POINTS, list(map(_points, sizes))
        titles = [f"{text} points" for text in texts]
    else:
        sizes = [word.contribution for word in words]
        smallest, weak = SMALLEST_DEVIATIONS * explained.deviation, WEAK_DEVIATIONS * explained.deviation
        places = max(2 - math.floor(math.log10(explained.deviation)), 0)
        titles = texts = [formatting.number(size, places, signed=True) for size in sizes]
    largest = max([weak, *map(abs, sizes)])
    written = set(sorted(range(len(sizes)), key=lambda place: -abs(sizes[place]))[:MOST_NUMBERS])
    shaded = []
    for place, (word, size) in enumerate(zip(words, sizes, strict=True)):
        visible = abs(size) >= smallest
        shade = round(SHADES * max(size, 0.0) / largest) if visible else 0
        number = texts[place] if visible and place in written else ""
        shaded.append(ShadedWord(word.text, shade, visible and size < 0, number, titles[place]))
    return shaded[: len(explained.words)], shaded[len(explained.words) :]


def too_small(explained: ExplainedText) -> str:
    """A sentence for a text of which no word contributes enough to be shown; empty if one does."""
    first, second = shade_words(explained)
    if any(word.contribution for word in [*first, *second]):
        return ""
    if explained.deviation is None:
        return f"Leaving out any one of these words changes the probability by less than {SMALLEST_POINTS} points."
    smallest = formatting.number(SMALLEST_DEVIATIONS * explained.deviation)
    return f"Leaving out any one of these words changes the predicted number by less than {smallest}."


def _points(points: float) -> str:
    rounded = f"{abs(points):.1f}" if abs(points) < 9.95 else f"{abs(points):.0f}"
    sign = "" if not any(digit in rounded for digit in "123456789") else "−" if points < 0 else "+"
    return sign + rounded
