"""The claim mlm: its parts on made-up values, and a quick run from end to end."""

import pytest

from glasshouse.claims import trials
from glasshouse.claims.pretraining import neighbour_tables
from glasshouse.claims.pretraining.arithmetic import (
    FROZEN,
    FULL,
    LINEAR,
    PRETRAINED,
    RANDOM,
    RANDOM_FROZEN,
    SCRATCH,
    SETTINGS,
)
from glasshouse.claims.pretraining.mlm import COURSE, MLM, WITHOUT_ORDER, masked
from glasshouse.results.claim import REFUTED, TOO_SMALL, UPHELD
from tests.claims.example_values import close_values
from tests.claims.judging import judge, outcome


def values(encoder=0.74, left=0.42, both=0.6, full=0.93, scratch=0.90, frozen=0.86, random_frozen=0.81, linear=0.938):
    series = {
        masked(COURSE, PRETRAINED): close_values(encoder, 0.01),
        masked(COURSE, neighbour_tables.LEFT): dict.fromkeys(range(8), left),
        masked(COURSE, neighbour_tables.BOTH): dict.fromkeys(range(8), both),
        COURSE.opponent(LINEAR): dict.fromkeys(range(8), linear),
    }
    means = {FULL: full, SCRATCH: scratch, FROZEN: frozen, RANDOM_FROZEN: random_frozen}
    for setting, ways in COURSE.ways.items():
        for shift, way in enumerate(ways):
            series[COURSE.quantity(setting, way)] = close_values(means[way], 0.01, shift)
    return series


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, UPHELD),
        ({"scratch": 0.93}, TOO_SMALL),
        ({"scratch": 0.97}, REFUTED),
        ({"both": 0.8}, REFUTED),  # a table of neighbours predicts more
        ({"left": 0.8, "both": 0.8}, REFUTED),
        ({"both": 0.74}, TOO_SMALL),
        ({"random_frozen": 0.9}, UPHELD),  # shown beside
    ],
)
def test_masked_pretraining_must_beat_tables_of_neighbours_and_help_the_later_task(changes, verdict):
    assert judge(MLM, values(**changes)).verdict == verdict


def test_the_linear_model_and_the_frozen_encoders_are_judged_beside_the_verdict():
    finding = judge(MLM, values(linear=0.97, random_frozen=0.81))
    where = SETTINGS["tuned"]
    linear = "fine-tuning a pretrained encoder beats a linear model over word pairs"
    assert outcome(finding, linear, where) == REFUTED
    assert outcome(finding, "a head on the frozen pretrained encoder beats a head on a random one", where) == UPHELD


@pytest.mark.slow
def test_a_quick_run_compares_the_encoders_with_tables_of_its_own_tokens(course_files):
    trial = trials.try_claim("mlm", quick=True, device="cpu").trials[-1]
    series = trial.measured.series
    encoders = [masked(COURSE, start) for start in (PRETRAINED, RANDOM, WITHOUT_ORDER)]
    assert all(set(series[key].values) == {0, 1} for key in encoders)
    shares = [series[masked(COURSE, table)].values[0] for table in neighbour_tables.TABLES]
    assert 0.1 < shares[0] < shares[1] < shares[2] < 1
    assert set(series[COURSE.quantity("tuned", RANDOM_FROZEN)].items) == {0, 1}
