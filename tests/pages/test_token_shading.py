"""The shades, captions and whitespace of sample tokens; the shades and numbers of explained words."""

from glasshouse.pages import token_shading
from glasshouse.pages.token_shading import MOST_NUMBERS, ShadedWord, shade, shade_sample
from glasshouse.results.report import ExplainedText, ExplainedWord, Sample, Token


def test_a_larger_probability_has_a_larger_shade() -> None:
    assert [shade(probability) for probability in (0, 0.009, 0.01, 0.3, 0.8, 1)] == [0, 0, 1, 3, 5, 5]


def test_a_prompt_that_is_not_among_the_tokens_comes_first() -> None:
    sample = shade_sample(Sample("Once", (Token(" upon\n", 0.5),)))
    assert [token.shade for token in sample.tokens] == [None, 4]
    assert sample.tokens[1].pieces == ((False, " upon"), (True, "⏎"), (False, "\n"))
    assert sample.caption == "1 sampled token; the geometric mean of their probabilities is 50.0 %"


def explained(*contributions: float) -> ExplainedText:
    words = tuple(ExplainedWord(f"w{place}", value) for place, value in enumerate(contributions))
    return ExplainedText(words, "a", "a", 0.9)


def shade_words(text: ExplainedText) -> list[ShadedWord]:
    first, second = token_shading.shade_words(text)
    assert second == []
    return first


def test_the_largest_contribution_has_the_darkest_shade() -> None:
    strong, half, against, nothing = shade_words(explained(0.5, 0.25, -0.1, 0.001))
    assert [word.shade for word in (strong, half, against, nothing)] == [5, 2, 0, 0]
    assert [word.against for word in (strong, half, against, nothing)] == [False, False, True, False]
    assert [word.contribution for word in (strong, half, against, nothing)] == ["+50", "+25", "−10", ""]
    assert nothing.title == "+0.1 points"


def test_only_the_largest_are_numbered() -> None:
    shaded = shade_words(explained(*(0.01 * (1 + place) for place in range(20))))
    assert sum(bool(word.contribution) for word in shaded) == MOST_NUMBERS
    assert all(word.contribution for word in shaded[-MOST_NUMBERS:])


def test_a_text_that_no_word_changes_has_no_shades() -> None:
    for text in (explained(0.0, 0.0), explained(0.0049, -0.0049)):
        assert {word.shade for word in shade_words(text)} == {0}
        assert "changes the probability by less than 0.5 points" in token_shading.too_small(text)
    assert token_shading.too_small(explained(0.0051, 0.0)) == ""
    number = ExplainedText((ExplainedWord("w", 90.0),), "9000", "8000", None, deviation=5000.0)
    assert "changes the predicted number by less than 100." in token_shading.too_small(number)


def test_the_texts_of_a_pair_have_one_scale() -> None:
    first, second = explained(0.5, 0.0).words, explained(0.1).words
    ((strong, nothing), (weak,)) = token_shading.shade_words(ExplainedText(first, "a", "a", 0.9, second=second))
    assert [word.shade for word in (strong, nothing, weak)] == [5, 0, 1]


def test_numbers_are_in_the_unit_of_the_data() -> None:
    words = tuple(ExplainedWord("w", value) for value in (3000.0, -1500.0, 10.0))
    raises, lowers, little = shade_words(ExplainedText(words, "9000", "8000", None, deviation=5000.0))
    assert (raises.contribution, lowers.contribution, little.contribution) == ("+3,000", "−1,500", "")
    assert raises.shade == 5
    assert lowers.against
    (small,) = shade_words(ExplainedText((ExplainedWord("w", 0.034),), "1", "1", None, deviation=0.5))
    assert small.contribution == "+0.034"
