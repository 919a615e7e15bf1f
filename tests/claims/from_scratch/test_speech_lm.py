"""The claim speech-lm: its rule on made-up perplexities."""

from glasshouse.claims.from_scratch import speech_lm
from tests.claims.example_values import close_values


def test_the_perplexity_must_be_below_the_reported_figure_on_every_text():
    figures = speech_lm.REPORTED["256"]
    below = {text: close_values(figure - 20, 10.0) for text, figure in figures.items()}
    assert speech_lm.all_below(below, figures) == "upheld"
    assert speech_lm.all_below({**below, "test-obama": close_values(349.0, 10.0)}, figures) == "undecided"
    assert speech_lm.all_below({**below, "train": close_values(200.0, 10.0)}, figures) == "refuted"
