"""Recovered distributions equal the known ones within their error bars, with the stated number of calls."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.llms.distribution_recovery import BISECTION, CLOSED, FORCED, RATIO, Recovery, rounding_error
from glasshouse.llms.next_token_api import Answer, LogitsAPI
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused


def random_logits(size, seed=0, spread=3.0):
    logits = np.random.default_rng(seed).normal(0, spread, size)
    logits[size // 3] += 3 * spread
    return logits


def log_probabilities(logits):
    return logits - logits.max() - math.log(np.exp(logits - logits.max()).sum())


def check(logits, top, method=None, journal=None, **shown):
    """The recovered distribution, after its error bars were checked."""
    api = LogitsAPI(logits, most_top=top, **shown)
    found = Recovery(api, "prompt", top, method, journal).run()
    off = np.abs(found.log_probabilities - log_probabilities(np.asarray(logits)))
    assert (off <= found.errors + 1e-12).all(), (off.max(), found.errors[off.argmax()])
    assert found.calls == api.calls
    return found, float(off.max())


@pytest.mark.parametrize("shown", [{}, {"dtype": np.float32}, {"decimals": 4}], ids=["float64", "float32", "4 decimals"])
@pytest.mark.parametrize("top", [2, 5, 20])
@pytest.mark.parametrize("size", [500, *(pytest.param(size, marks=pytest.mark.slow) for size in (8000, 50_000))])
def test_every_probability_is_recovered_by_ratios(size, top, shown):
    found, error = check(random_logits(size), top, RATIO, **shown)
    assert error < 1e-3
    assert found.calls <= math.ceil((size - 1) / (top - 1)) + 2
    assert found.missing == 0


@pytest.mark.parametrize("top", [2, 5, 20])
def test_the_closed_form_needs_fewer_calls_where_digits_allow(top):
    logits = random_logits(2000, spread=1.5)
    found, error = check(logits, top)
    assert found.method == CLOSED
    assert error < 1e-4
    assert found.calls <= math.ceil(2000 / top) + 4
    by_ratio, _ = check(logits, top, decimals=4)
    assert by_ratio.method == RATIO, "four decimals are too few for the closed form"


def test_the_closed_form_in_few_digits_falls_back_to_ratios():
    found, error = check(random_logits(500), 5, CLOSED, decimals=4)
    assert error < 1e-3
    assert found.calls > math.ceil(499 / 4)


def test_adding_the_exponential_of_the_bias_is_wrong():
    """The reported derivation adds exp(b) to a probability. It multiplies the odds."""
    logits, bias = random_logits(50, spread=1.0), 3.0
    known = np.exp(log_probabilities(logits))
    api = LogitsAPI(logits, most_top=50)
    token = int(np.argsort(known)[25])
    biased = math.exp(dict(api.ask("", 50, {token: bias}).top)[token])
    added = biased * (1 + math.exp(bias)) - math.exp(bias)
    multiplied = biased / (math.exp(bias) - math.expm1(bias) * biased)
    assert multiplied == pytest.approx(known[token], rel=1e-9)
    assert added < 0, "it gives no probability at all"


def test_tokens_are_forced_or_bisected_where_log_probabilities_do_not_show_the_bias():
    found, error = check(random_logits(200), 5, after_bias=False, shows_sampled=True)
    assert (found.method, found.calls) == (FORCED, 197)
    assert error < 1e-9
    found, error = check(random_logits(60), 5, after_bias=False)
    assert found.method == BISECTION
    assert error < 1e-3


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-30, 30), min_size=2, max_size=60),
    st.integers(1, 8),
    st.sampled_from([{}, {"dtype": np.float32}, {"decimals": 3}]),
)
def test_error_bars_hold_for_any_logits(logits, top, shown):
    found, _ = check(np.array(logits), top, **shown)
    assert np.exp(found.log_probabilities).sum() == pytest.approx(1)


def test_a_token_that_no_bias_brings_up_is_missing():
    logits = random_logits(100)
    logits[[5, 50]] = -300.0
    found = Recovery(LogitsAPI(logits, most_top=5), "prompt", 5).run()
    assert found.missing == 2
    assert not np.exp(found.log_probabilities[[5, 50]]).any()
    others = np.delete(np.arange(100), [5, 50])
    np.testing.assert_allclose(found.log_probabilities[others], log_probabilities(logits)[others], atol=1e-6)


def test_a_noisy_api_has_wider_error_bars():
    class Noisy(LogitsAPI):
        def ask(self, prompt, top, bias):
            answer = super().ask(prompt, top, bias)
            noise = np.random.default_rng(self.calls).normal(0, 0.01, len(answer.top))
            return Answer(answer.token, None, tuple((t, v + n) for (t, v), n in zip(answer.top, noise, strict=True)))

    found = Recovery(Noisy(random_logits(200), most_top=20), "prompt", 20, RATIO).run()
    assert np.median(found.errors) > 0.005


def test_a_killed_recovery_continues_where_it_stopped(tmp_path):
    class Dies(LogitsAPI):
        def ask(self, prompt, top, bias):
            if self.calls == 40:
                raise KeyboardInterrupt
            return super().ask(prompt, top, bias)

    logits, journal = random_logits(300), tmp_path / "answers.jsonl"
    with pytest.raises(KeyboardInterrupt):
        Recovery(Dies(logits, most_top=5), "prompt", 5, RATIO, journal).run()
    with journal.open("a") as file:
        file.write('["[[1, 100.0], [2, 1')  # a line that was being written
    rest = LogitsAPI(logits, most_top=5)
    found = Recovery(rest, "prompt", 5, RATIO, journal).run()
    whole = Recovery(LogitsAPI(logits, most_top=5), "prompt", 5, RATIO).run()
    assert rest.calls == whole.calls - 40
    assert found.calls == whole.calls
    np.testing.assert_array_equal(found.log_probabilities, whole.log_probabilities)
    again = LogitsAPI(logits, most_top=5)
    Recovery(again, "prompt", 5, RATIO, journal).run()
    assert again.calls == 0
    with refused(GlasshouseError, "answers.jsonl"):
        Recovery(again, "another prompt", 5, RATIO, journal)
    journal.write_text("")  # killed before the first line was written
    assert Recovery(again, "prompt", 5, RATIO, journal).run().calls == whole.calls
    journal.write_text("no answers")
    with refused(GlasshouseError, "answers.jsonl"):
        Recovery(again, "prompt", 5, RATIO, journal)


def test_apis_that_show_nothing_or_ignore_the_bias_are_refused():
    class Silent(LogitsAPI):
        def ask(self, prompt, top, bias):
            return Answer(0, None, ())

    class Deaf(LogitsAPI):
        def ask(self, prompt, top, bias):
            return super().ask(prompt, top, {})

    logits = random_logits(30)
    with refused(GlasshouseError, "logits"):
        Recovery(Silent(logits), "", 5).run()
    with refused(GlasshouseError, "100"):
        Recovery(Deaf(logits), "", 5).run()
    with refused(GlasshouseError, "closed-form or bisection"):
        Recovery(LogitsAPI(logits), "", 1, RATIO).run()
    with refused(GlasshouseError, "top=0"):
        Recovery(LogitsAPI(logits), "", 0)
    with refused(GlasshouseError, "guess"):
        Recovery(LogitsAPI(logits), "", 5, "guess")


def test_the_first_answer_of_a_small_vocabulary_tells_everything():
    found, error = check(random_logits(8), 20)
    assert found.calls == 1
    assert error < 1e-12


def test_the_rounding_is_read_from_the_digits():
    assert rounding_error([-0.1234, -2.5]) == pytest.approx(5e-5)
    assert rounding_error([-3.0, 0.0]) == pytest.approx(0.5)
    assert rounding_error([float(np.float32(-0.123456789)), float(np.float32(-7.7654321))]) == pytest.approx(6e-6, rel=0.01)
    assert rounding_error([-0.12345678901234, -7.1234567890123]) < 2e-14


def test_samples_come_from_the_tokens_that_reach_top_p():
    logits = np.log([0.5, 0.3, 0.15, 0.05])
    found = Recovery(LogitsAPI(logits), "", 2).run()
    drawn = found.sample(400, top_p=0.75)
    assert set(drawn) == {0, 1}
    assert np.mean(np.array(drawn) == 0) == pytest.approx(0.5 / 0.8, abs=0.08)
    assert found.sample(400, top_p=0.75) == drawn, "the same seed gives the same tokens"
    assert found.most_likely(3) == [0, 1, 2]
