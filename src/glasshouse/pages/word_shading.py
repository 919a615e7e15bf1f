"""How the words of an explained text are shown: a shade for those that speak for the class, a line for those against it."""

from dataclasses import dataclass

from glasshouse.pages.report_content import ExplainedText

SHADES = 5
# Words whose contribution is written below them, and the smallest contribution in points that is worth writing.
MOST_NUMBERS = 6
SMALLEST_POINTS = 0.5
# If every contribution is below this, no word gets the darkest shade.
WEAK_POINTS = 10.0


@dataclass(frozen=True)
class ShadedWord:
    """A word with its shade (0: none), and its contribution in points if it is among the largest."""

    text: str
    shade: int
    against: bool
    points: str
    title: str


def shade_words(explained: ExplainedText) -> list[ShadedWord]:
    """The words of a text. Shades are relative to the largest contribution in it, unless all are weak."""
    points = [100 * word.contribution for word in explained.words]
    largest = max([WEAK_POINTS, *map(abs, points)])
    written = set(sorted(range(len(points)), key=lambda place: -abs(points[place]))[:MOST_NUMBERS])
    shaded = []
    for place, (word, size) in enumerate(zip(explained.words, points, strict=True)):
        visible = abs(size) >= SMALLEST_POINTS
        shade = round(SHADES * max(size, 0.0) / largest) if visible else 0
        text = _signed(size)
        number = text if visible and place in written else ""
        shaded.append(ShadedWord(word.text, shade, visible and size < 0, number, f"{text} points"))
    return shaded


def _signed(points: float) -> str:
    rounded = f"{abs(points):.1f}" if abs(points) < 9.95 else f"{abs(points):.0f}"
    sign = "" if not any(digit in rounded for digit in "123456789") else "−" if points < 0 else "+"
    return sign + rounded
