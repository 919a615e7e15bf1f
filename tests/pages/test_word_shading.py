"""Words of an explained text: shades for, a line against, and numbers below the largest contributions."""

from glasshouse.pages.report_content import ExplainedText, ExplainedWord
from glasshouse.pages.word_shading import MOST_NUMBERS, shade_words


def explained(*contributions: float) -> ExplainedText:
    words = tuple(ExplainedWord(f"w{place}", value) for place, value in enumerate(contributions))
    return ExplainedText(words, "a", "a", 0.9)


def test_the_largest_contribution_has_the_darkest_shade() -> None:
    strong, half, against, nothing = shade_words(explained(0.5, 0.25, -0.1, 0.001))
    assert [word.shade for word in (strong, half, against, nothing)] == [5, 2, 0, 0]
    assert [word.against for word in (strong, half, against, nothing)] == [False, False, True, False]
    assert [word.points for word in (strong, half, against, nothing)] == ["+50", "+25", "−10", ""]
    assert nothing.title == "+0.1 points"


def test_only_the_largest_are_numbered() -> None:
    shaded = shade_words(explained(*(0.01 * (1 + place) for place in range(20))))
    assert sum(bool(word.points) for word in shaded) == MOST_NUMBERS
    assert all(word.points for word in shaded[-MOST_NUMBERS:])


def test_a_text_that_no_word_changes_has_no_shades() -> None:
    assert {word.shade for word in shade_words(explained(0.0, 0.0))} == {0}
