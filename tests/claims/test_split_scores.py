"""Scores of a study's runs by seed: diverged runs, cached rows, and the series of baselines."""

import math
from types import SimpleNamespace

import pytest

from glasshouse.claims import split_scores
from glasshouse.claims.bench import Bench
from glasshouse.claims.claim import Series
from glasshouse.specs.errors import RunError
from tests.refusals import refused

STUDY = SimpleNamespace(
    name="study", arms=[SimpleNamespace(name="other", seeds=(1,)), SimpleNamespace(name="arm", seeds=(1, 2))]
)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A bench with a study in which only the seed 1 of each arm is finished."""
    finished = SimpleNamespace(spec=SimpleNamespace(training=SimpleNamespace(seed=1)))
    monkeypatch.setattr(Bench, "finished_runs", lambda self, study, arm: [finished])
    return Bench(tmp_path, {}, 0, 2)


def test_a_diverged_run_has_no_number(bench):
    scores = split_scores.cached_by_seed(bench, STUDY, "arm", "scores", lambda run: {"loss": 1.5})
    assert scores["loss"][1] == 1.5
    assert math.isnan(scores["loss"][2])


def test_rows_are_computed_once_for_each_arm(bench):
    def never(run):
        raise AssertionError

    assert split_scores.cached_rows(bench, STUDY, "arm", "rows", lambda run: {"items": [1.0, 2.0]}) == {
        1: {"items": [1.0, 2.0]}
    }
    assert split_scores.cached_rows(bench, STUDY, "arm", "rows", never) == {1: {"items": [1.0, 2.0]}}
    assert split_scores.cached_rows(bench, STUDY, "other", "rows", lambda run: {"items": []}) == {1: {"items": []}}


def test_an_arm_that_diverged_in_every_seed_is_refused(bench, monkeypatch):
    monkeypatch.setattr(Bench, "finished_runs", lambda self, study, arm: [])
    with refused(RunError, "arm", "study"):
        split_scores.cached_rows(bench, STUDY, "arm", "rows", lambda run: {})


def test_a_baseline_has_the_same_value_in_every_unit():
    assert split_scores.same_for_every([3, 4], 0.5) == Series({3: 0.5, 4: 0.5})
    assert split_scores.same_for_every([3, 4], [1.0, 0.0]) == Series({3: 0.5, 4: 0.5}, {3: (1.0, 0.0), 4: (1.0, 0.0)})
