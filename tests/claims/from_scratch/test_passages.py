"""The measures of passages: known, repeated, copied and kept words, and brackets out of order."""

import numpy as np
import pytest

from glasshouse.claims.from_scratch import passages
from glasshouse.data import shards
from glasshouse.data.documents import Document
from glasshouse.tokenizers.words import Words


def test_passages_are_measured_in_words():
    assert passages.repeated_share([*"abcdabcd"]) == pytest.approx(1 / 5)
    assert passages.repeated_share([*"ab"]) == 0
    measure = passages.PassageMeasure(["a b c d e f g h i j"])
    values = measure.measure(["zebra"], ["cut a b c d e f g h unknown zebra cut"])
    assert set(values) == set(passages.MEASURES)
    assert values["known"] == [0.8]
    assert values["copied"] == [pytest.approx(1 / 3)]
    assert values["kept"] == [0.5]  # of the two rarer words in the second half, one is in the prompt
    assert values["brackets"] == [0.0]


@pytest.mark.parametrize(
    ("prompt", "passage", "errors"),
    [
        ("", "a ( b ) c ( d )", 0),
        ("a ( b", "c ) d", 0),  # the prompt has left one open
        ("a ) (", "c )", 0),  # errors of the prompt do not count
        ("", "a ) b", 1),
        ("", "( a ( b )", 1),
        ("", ") ) ( (", 3),
        ("", "a ( b", 0),  # the passage was cut
    ],
)
def test_a_bracket_out_of_order_closes_nothing_or_opens_twice(prompt, passage, errors):
    assert passages.bracket_errors(prompt.split(), passage.split()) == errors


def test_prompts_are_followed_by_the_real_passages(tmp_path):
    text = " ".join(f"w{number % 60}" for number in range(400))
    tokenizer = Words.train([text], 128)
    shard = shards.write(tmp_path, "test", iter([Document(text), Document(text)]), tokenizer)
    prompts = passages.take_prompts(shard, tokenizer, 5, 20)
    assert len(prompts.texts) == len(prompts.real) == len(prompts.tokens) == 5
    for tokens, beginning, real in zip(prompts.tokens, prompts.texts, prompts.real, strict=True):
        assert len(tokens) == passages.PROMPT_TOKENS
        assert len(real.split()) == prompts.length == 20
        numbers = [int(word[1:]) for word in (beginning + " " + real).split()]
        steps = (np.diff(numbers) % 60).tolist()
        assert steps.count(1) >= len(steps) - 1  # consecutive words, except where the second document begins
    assert passages.take_prompts(shard, tokenizer, 2, 10_000).length < 400
