"""The claim nli-metric: its verdict on made-up correlations, and a quick run."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.translation.edited_captions import ANY, SAME
from glasshouse.claims.translation.nli_metric import CAPTIONS, RECIPE_WIDTH, SETTINGS, TRANSLATORS, WIDTHS, NLIMetric
from glasshouse.results.claim import DEPENDS, REFUTED, TOO_SMALL, UNDECIDED, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(changes=None, noise=0.01):
    """Correlations: 0.8 of entailment, or as in `changes` by setting; 0.6 of BLEU and 0.5 of chrF."""
    series = {}
    for setting in SETTINGS:
        key = "/".join(setting)
        entailment = (changes or {}).get(setting, 0.8)
        series[f"{key}/entailment-{RECIPE_WIDTH}"] = close_values(entailment, noise)
        series[f"{key}/bleu"] = close_values(0.6, noise, shift=2)
        series[f"{key}/chrf"] = close_values(0.5, noise, shift=3)
    return series


@pytest.mark.parametrize(
    ("changes", "noise", "verdict"),
    [
        ({}, 0.01, UPHELD),
        (dict.fromkeys(SETTINGS, 0.3), 0.01, REFUTED),
        (dict.fromkeys(SETTINGS, 0.61), 0.01, TOO_SMALL),
        ({(CAPTIONS, SAME): 0.3}, 0.01, DEPENDS),  # with equal wording, overlap follows the meaning better
        ({(TRANSLATORS, ANY): 0.55}, 0.01, DEPENDS),  # better than chrF, worse than BLEU
        ({}, 2.0, UNDECIDED),
    ],
)
def test_entailment_must_follow_adequacy_better_than_both_in_every_setting(changes, noise, verdict):
    assert judge(NLIMetric, values(changes, noise)).verdict == verdict


def test_what_breaks_it_is_shown_beside_it():
    beside = {
        "omission": close_values(0.9),
        "omission-both": close_values(0.1, shift=2),
        "shuffled": close_values(0.4),
        "other-reference": close_values(0.0),
    }
    finding = judge(NLIMetric, {**values(), **beside})
    assert finding.verdict == UPHELD
    outcomes = {result.part.quantity: result.outcome for result in finding.parts if result.part.quantity in beside}
    assert outcomes == {"omission": UPHELD, "omission-both": UPHELD, "shuffled": REFUTED, "other-reference": UPHELD}
    name = "repaired: in both directions fewer captions that omit a fact are judged entailed"
    assert outcome(finding, name) == UPHELD


@pytest.mark.slow
def test_a_quick_run_measures_everything(few_scene_pairs):
    trial = trials.try_claim("nli-metric", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    assert set(series) == set(NLIMetric.quantities)
    assert {len(one.values) for one in series.values()} == {2}
    assert 0 < series[f"accuracy/{WIDTHS[0]}"].values[0] < 0.6, "hardly trained"
    curve = dict(trial.measured.curves["scores/facts kept, any wording"])
    assert curve[0.0] == 1 > curve[1.0] > curve[2.0] > curve[3.0]
