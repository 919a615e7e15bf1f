"""The claim position-table: judged on made-up values, and a whole quick run."""

import pytest

from glasshouse import models
from glasshouse.claims import trials
from glasshouse.claims.positions.position_table import BEYOND_WIDTH, WITHIN_WIDTH, PositionTable
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from glasshouse.studies import arms
from tests.claims.example_values import close_values
from tests.claims.judging import judge


def verdicts(sinusoidal=0.2, one_hot=0.02, small_one_hot=None, noise=0.01, unreadable=(0.0, 1.0), longest=6.0):
    """The verdict and those at 64 tokens (two sizes, two rates) and at 128, from rises and lengths that cannot be read."""
    values = {
        f"{arm}/unreadable": dict.fromkeys(range(8), count)
        for arm, count in zip(("sinusoidal", "one-hot"), unreadable, strict=True)
    }
    for setting in ("reported", "tuned"):
        for size, rise in (("embeddings", one_hot), ("amplitude", one_hot if small_one_hot is None else small_one_hot)):
            values[f"{setting}/{size}/sinusoidal/rise-64"] = close_values(sinusoidal, noise)
            values[f"{setting}/{size}/one-hot/rise-64"] = close_values(rise, noise, shift=3)
        values[f"{setting}/embeddings/sinusoidal/128"] = close_values(longest)
        values[f"{setting}/unigram"] = dict.fromkeys(range(8), 6.5)
    finding = judge(PositionTable, values)
    assert [setting for setting, _ in finding.by_setting] == [*WITHIN_WIDTH.values(), BEYOND_WIDTH]
    return finding.verdict, [word for _, word in finding.by_setting]


@pytest.mark.parametrize(
    ("values", "verdict", "at_64", "at_128"),
    [
        ({}, DEPENDS, REFUTED, UPHELD),
        ({"sinusoidal": 0.02, "one_hot": 0.2}, UPHELD, UPHELD, UPHELD),
        ({"sinusoidal": 0.02}, DEPENDS, TOO_SMALL, UPHELD),
        ({"sinusoidal": 0.03, "noise": 0.3}, UNDECIDED, UNDECIDED, UPHELD),
        ({"unreadable": (1.0, 1.0)}, REFUTED, REFUTED, REFUTED),  # sinusoidal positions cannot be read either
        ({"unreadable": (0.0, 0.0)}, DEPENDS, REFUTED, TOO_SMALL),  # both can be read
        ({"longest": 7.0}, REFUTED, REFUTED, REFUTED),  # it can be read, but a count of words does better
    ],
)
def test_inability_to_read_counts_beyond_the_width_and_the_rise_within_it(values, verdict, at_64, at_128):
    assert verdicts(**values) == (verdict, [*[at_64] * 4, at_128])


def test_the_verdict_may_depend_on_the_size_of_the_codes():
    found = verdicts(sinusoidal=0.1, one_hot=0.2, small_one_hot=0.01)
    assert found == (DEPENDS, [UPHELD, UPHELD, REFUTED, REFUTED, UPHELD])


def test_the_sines_have_the_amplitude_of_the_small_codes():
    """So both studies train the same sinusoidal model, and only the one-hot vectors differ in size."""
    plans = {plan.name: plan for plan in PositionTable.studies}
    [by_itself] = arms.expand(arms.parse(plans["embeddings-reported"].words))[:1]
    scale = models.build(by_itself.spec.model, 100, 32).position.scale.item()
    assert f"model.position_scale={scale}" in plans["amplitude-reported"].words


@pytest.mark.slow
def test_a_quick_run_counts_the_lengths_that_each_arm_cannot_read(speeches):
    trial = trials.try_claim("position-table", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    unreadable = {key.partition("/")[0]: values.values[0] for key, values in series.items() if key.endswith("/unreadable")}
    assert unreadable == {
        "sinusoidal": 0,
        "one-hot": 1,
        "learned": 2,
        "relative": 0,
        "relative-buckets": 0,
        "alibi": 0,
        "rotary": 0,
        "none": 0,
    }
    rise, loss = series["reported/embeddings/one-hot/rise-64"], series["reported/embeddings/one-hot/64"]
    assert rise.values[0] == pytest.approx(loss.values[0] - series["reported/embeddings/one-hot/32"].values[0], abs=1e-6)
    assert rise.items is not None
    assert loss.items is None
    assert "reported/embeddings/one-hot/128" not in series
    assert "reported/embeddings/learned/64" not in series
    assert dict(trial.measured.facts)["embeddings-reported, one-hot at 64 tokens"].startswith("rebuilt")
