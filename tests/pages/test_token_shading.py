"""The shades, captions and visible whitespace of sample tokens."""

from glasshouse.pages.token_shading import shade, shade_sample
from glasshouse.results.report import Sample, Token


def test_a_larger_probability_has_a_larger_shade() -> None:
    assert [shade(probability) for probability in (0, 0.009, 0.01, 0.3, 0.8, 1)] == [0, 0, 1, 3, 5, 5]


def test_a_prompt_that_is_not_among_the_tokens_comes_first() -> None:
    sample = shade_sample(Sample("Once", (Token(" upon\n", 0.5),)))
    assert [token.shade for token in sample.tokens] == [None, 4]
    assert sample.tokens[1].pieces == ((False, " upon"), (True, "⏎"), (False, "\n"))
    assert sample.caption == "1 sampled token; the geometric mean of their probabilities is 50.0 %"
