"""Shaded texts of HTML pages: sampled tokens by their probability, and explained words by what they contribute.

A word that raises the prediction is shaded; one that lowers it is underlined.
"""

import bisect
import math
from dataclasses import dataclass

from glasshouse import formatting
from glasshouse.results.report import ExplainedText, Sample, Token

# Boundaries between shades; they are closer together at the small probabilities that most sampled tokens have.
EDGES = (0.01, 0.05, 0.2, 0.5, 0.8)
SHADE_NAMES = ("under 1 %", "1 to 5 %", "5 to 20 %", "20 to 50 %", "50 to 80 %", "over 80 %")
WORD_SHADES = 5
# Words whose contribution is written below them.
MOST_NUMBERS = 6
# The smallest contribution that is worth writing, and what the largest must reach for the darkest shade: in points of
# probability, and of a predicted number in standard deviations of the training data.
SMALLEST_POINTS, WEAK_POINTS = 0.5, 10.0
SMALLEST_DEVIATIONS, WEAK_DEVIATIONS = 0.02, 0.2


@dataclass(frozen=True)
class ShadedToken:
    """A token with its shade; None means a prompt token or an unknown probability."""

    shade: int | None
    pieces: tuple[tuple[bool, str], ...]  # (whether the text is a symbol for an invisible character, text)
    title: str


@dataclass(frozen=True)
class ShadedSample:
    """A sample with its caption; `details` has the tooltip of each token, for samples.js."""

    tokens: tuple[ShadedToken, ...]
    caption: str
    details: list[dict[str, object]]


def shade_sample(sample: Sample) -> ShadedSample:
    """Shade the tokens of a sample. A prompt that is not among the tokens is put before them."""
    tokens = sample.tokens
    if sample.prompt and not any(token.probability is None for token in tokens):
        tokens = (Token(sample.prompt, None), *tokens)
    sampled = [_probability(token) for token in tokens if token.probability is not None]
    caption = f"{len(sampled):,} sampled token{'' if len(sampled) == 1 else 's'}"
    known = [probability for probability in sampled if probability is not None]
    if known:
        # The geometric mean is the probability per token that gives the same probability of the whole text.
        mean = math.exp(sum(math.log(max(probability, 1e-12)) for probability in known) / len(known))
        caption += f"; the geometric mean of their probabilities is {formatting.probability(mean)}"
    return ShadedSample(tuple(map(_shaded_token, tokens)), caption, list(map(_detail, tokens)))


def shade(probability: float) -> int:
    """The index of the shade for a probability; larger means more likely."""
    return bisect.bisect_right(EDGES, probability)


def _shaded_token(token: Token) -> ShadedToken:
    probability = _probability(token)
    if token.probability is None:
        return ShadedToken(None, _pieces(token.text), "prompt")
    if probability is None:
        return ShadedToken(None, _pieces(token.text), "probability unknown")
    return ShadedToken(shade(probability), _pieces(token.text), f"probability {formatting.probability(probability)}")


def _probability(token: Token) -> float | None:
    """The token's probability, clipped to [0, 1]; None if it is missing or not finite."""
    if token.probability is None or not math.isfinite(token.probability):
        return None
    return min(1.0, max(0.0, token.probability))


def _detail(token: Token) -> dict[str, object]:
    """The content of a token's tooltip. samples.js reads these keys."""
    probability = _probability(token)
    texts = [alternative for alternative, _ in token.alternatives]
    return {
        "text": formatting.visible(token.text),
        "given": token.probability is None,
        "probability": None if probability is None else formatting.probability(probability),
        "rank": texts.index(token.text) + 1 if token.text in texts else None,
        "alternatives": [
            [formatting.visible(alternative), formatting.probability(share), round(min(1.0, max(0.0, share)), 4)]
            for alternative, share in token.alternatives
            if math.isfinite(share)
        ],
    }


def _pieces(token: str) -> tuple[tuple[bool, str], ...]:
    """The token as pieces of plain text and symbols. Spaces stay spaces; a line break gets a symbol and breaks the line."""
    pieces: list[tuple[bool, str]] = []
    for character in token:
        symbol = formatting.visible(character)
        is_plain = character == " " or symbol == character
        if is_plain and pieces and not pieces[-1][0]:
            pieces[-1] = (False, pieces[-1][1] + character)
        else:
            pieces.append((not is_plain, character if is_plain else symbol))
        if character == "\n":
            pieces.append((False, "\n"))
    return tuple(pieces) or ((True, formatting.visible("")),)


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
        shade = round(WORD_SHADES * max(size, 0.0) / largest) if visible else 0
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
