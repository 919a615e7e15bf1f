"""The claim clip-prompt: its prompts, its verdict on made-up values, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models.clip_prompt import (
    CAPTION,
    EXAMPLES,
    PIECES,
    PLURAL,
    REGULAR,
    SINGULAR,
    WORDS,
    ClipPrompt,
    prompts_of,
)
from glasshouse.data.sources.scenes.captions import all_captions
from glasshouse.data.sources.scenes.meaning import Meaning
from glasshouse.results.claim import REFUTED, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def values(plural=0.1, caption=0.9, noise=0.001):
    return {f"{CAPTION}/{PIECES}": close_values(caption, noise), f"{PLURAL}/{PIECES}": close_values(plural, noise, shift=1)}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"plural": 0.9}, REFUTED),
        ({"caption": 0.1}, REFUTED),  # nothing works
        ({"noise": 5.0}, UNDECIDED),
    ],
)
def test_captions_must_work_and_the_other_plural_must_not(changes, verdict):
    assert judge(ClipPrompt, values(**changes)).verdict == verdict


def test_words_as_tokens_decide_nothing():
    words = {f"{CAPTION}/{WORDS}": close_values(0.1), f"{PLURAL}/{WORDS}": close_values(0.9)}
    assert judge(ClipPrompt, {**values(), **words}).verdict == UPHELD


def test_prompts_of_each_form():
    for form, example in EXAMPLES.items():
        assert example in [text for text, _ in prompts_of(form)]
    for form in (CAPTION, REGULAR):
        assert all(text in all_captions(Meaning((group,)), "english") for text, group in prompts_of(form))
    for form in (PLURAL, SINGULAR):
        assert not any(text in all_captions(Meaning((group,)), "english") for text, group in prompts_of(form))
    assert [group for _, group in prompts_of(CAPTION)] == [group for _, group in prompts_of(PLURAL)]
    assert [group for _, group in prompts_of(REGULAR)] == [group for _, group in prompts_of(SINGULAR)]


@pytest.mark.slow
def test_a_quick_run_measures_everything():
    series = trials.try_claim("clip-prompt", quick=True, device="cpu").trials[-1].measured.series
    assert set(series) == set(ClipPrompt.quantities)
    assert all(0 <= value <= 1 for found in series.values() for value in found.values.values())
