"""The claim ask: its verdict on made-up values, and a quick run that compares real interfaces."""

from types import SimpleNamespace

import pytest

from glasshouse.claims import trials
from glasshouse.claims.language_models import ask
from glasshouse.claims.language_models.ask import ARMS, INTERFACES, Ask
from glasshouse.generation.engine import SampledToken
from glasshouse.llms.language_model import Reply
from glasshouse.results.claim import REFUTED, UPHELD
from tests import needs
from tests.claims.judging import judge

SAME = {f"different/{interface}/{arm}": {0: 0.0, 1: 0.0} for interface in INTERFACES for arm in ARMS}


def test_one_answer_that_differs_refutes():
    assert judge(Ask, SAME).verdict == UPHELD
    for key in SAME:
        assert judge(Ask, {**SAME, key: {0: 0.0, 1: 1.0}}).verdict == REFUTED


def test_answers_are_compared_up_to_the_first_near_tie():
    choices = [
        SampledToken(token, -0.1, ((token, -0.1), (9, second))) for token, second in ((0, -3.0), (1, -0.11), (2, -4.0))
    ]
    completion = SimpleNamespace(choices=choices, text=" abc")
    tokenizer = SimpleNamespace(decode=lambda tokens: "".join(" abc"[token : token + 2] for token in tokens))
    run = SimpleNamespace(sample=lambda *words, **options: [completion], tokenizer=tokenizer)
    assert ask._certain_answer(run, "?") == ("a", "abc")
    model = SimpleNamespace(chat=lambda messages, options: Reply(" axx\n", "end"))
    assert ask._differing(model, ["a\n", *["a"] * (len(ask.QUESTIONS) - 1)]) == 0
    assert ask._differing(model, ["a", *["ab"] * (len(ask.QUESTIONS) - 1)]) == len(ask.QUESTIONS) - 1


@pytest.mark.slow
def test_a_quick_run_asks_through_every_interface():
    needs.package("xllamacpp")
    needs.package("gguf")
    series = trials.try_claim("ask", quick=True, device="cpu").trials[-1].measured.series
    assert set(series) == set(Ask.quantities)
    for key in SAME:
        assert set(series[key].values.values()) == {0.0}, key
