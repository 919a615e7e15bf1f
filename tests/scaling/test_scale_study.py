"""A scaling study on disk: planned, trained, continued and fitted."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import glasshouse
from glasshouse.records import lock
from glasshouse.scaling import compute_optimal, scale_study
from glasshouse.scaling.scale_study import FACTORS, RateRule, SweptSize
from glasshouse.specs.errors import GlasshouseError, RunError

from .small_studies import TINY, TINY_PLAN, write_text


@pytest.fixture
def studies(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    write_text(tmp_path / "text.txt")
    return tmp_path / "studies"


def test_a_study_is_planned_trained_and_fitted(studies):
    words = (*TINY, f"data.files={studies.parent / 'text.txt'}")
    options = {**TINY_PLAN, "seeds": 1, "spread": 3.0, "rates": "recipe"}
    study = glasshouse.scaling.plan(*words, budgets="2e8,4e8", **options)
    assert study.ended() == 0
    assert study.seconds > 0
    again = scale_study.find("tiny")
    assert [(size.name, size.spec, size.flops) for size in again.sizes] == [
        (size.name, size.spec, size.flops) for size in study.sizes
    ]
    with pytest.raises(GlasshouseError) as caught:
        glasshouse.scaling.plan(*words, budgets="2e8,4e8", **options)
    assert isinstance(caught.value, RunError)
    with pytest.raises(GlasshouseError) as caught:
        glasshouse.scaling.fit("tiny")
    assert isinstance(caught.value, RunError)
    done = glasshouse.scaling.run("tiny", "cpu")
    assert done.ended() == len(study.sizes)
    table = scale_study.measured(done)
    assert len(table) == len(study.sizes)
    assert (table.losses > 0).all()
    np.testing.assert_allclose(table.flops, [size.flops for size in study.sizes])
    plain = scale_study.measured(done, compute_optimal.ALL, scale_study.SIX_ND)
    np.testing.assert_allclose(plain.flops, 6 * plain.parameters * plain.tokens)
    for each in (table, plain):
        assert len(set(each.budgets)) == 2
    size = done.sizes[0]
    recorded = done.run(size, 0).facts()["plan"]
    assert {how: compute_optimal.size_of_run(recorded, how).parameters for how in compute_optimal.COUNTS} == size.parameters
    assert (table.counted, plain.counted) == (compute_optimal.WITH_HEAD, compute_optimal.ALL)
    assert glasshouse.scaling.study_of(done.run(size, 0).path) == "tiny"
    with pytest.raises(GlasshouseError) as caught:
        scale_study.on_data("other")
    assert isinstance(caught.value, RunError)
    # Another process has the study.
    with lock.hold(done.path, "wait"), pytest.raises(GlasshouseError):
        glasshouse.scaling.run("tiny", "cpu")
    # Nothing is trained twice.
    folders = {path: path.stat().st_mtime_ns for path in studies.rglob("metrics.jsonl")}
    glasshouse.scaling.run("tiny", "cpu")
    assert {path: path.stat().st_mtime_ns for path in studies.rglob("metrics.jsonl")} == folders


def test_names_of_studies_and_files_are_told_apart(studies, tmp_path):
    (tmp_path / "table").write_text("N,D,L")
    (studies / "v1.2").mkdir(parents=True)
    (studies / "v1.2" / scale_study.FILE).write_text("{}")
    names = ("unknown", "v1.2", "missing.csv", str(tmp_path / "table"))
    assert [scale_study.is_study_name(name) for name in names] == [True, True, False, False]


def test_missing_and_damaged_studies_are_refused(studies):
    with pytest.raises(GlasshouseError) as caught:
        scale_study.find("none")
    assert isinstance(caught.value, RunError)
    (studies / "broken").mkdir(parents=True)
    for text, code in (("{", RunError), (json.dumps({"format": 99}), GlasshouseError), ("{}", RunError)):
        (studies / "broken" / scale_study.FILE).write_text(text)
        with pytest.raises(GlasshouseError) as caught:
            scale_study.find("broken")
        assert isinstance(caught.value, code)


@given(st.floats(-1.9, 1.9), st.floats(0.01, 5), st.floats(1e-4, 1e-1))
def test_the_minimum_of_a_parabola_in_log_rate_is_found(shift, curvature, recipe):
    best = recipe * 2**shift
    losses = {recipe * factor: 2 + curvature * math.log(recipe * factor / best) ** 2 for factor in FACTORS}
    found = scale_study.best_rate(1e5, losses)
    assert found is not None
    assert found.rate == pytest.approx(best, rel=1e-3)
    assert not found.at_edge


def test_rates_that_diverge_are_left_out():
    losses = {1e-3: 2.0, 2e-3: 1.5, 4e-3: math.nan}
    assert scale_study.best_rate(10, losses) == SweptSize(10, 2e-3, False)
    assert scale_study.best_rate(10, {1e-3: 1.0, 2e-3: 1.5, 4e-3: 2.0}) == SweptSize(10, 1e-3, True)
    assert scale_study.best_rate(10, {1e-3: math.nan}) is None


def test_the_rule_is_a_power_law():
    rule = RateRule(SweptSize(1e4, 8e-3, False), SweptSize(1e6, 8e-4, False))
    assert rule.exponent == pytest.approx(-0.5)
    assert rule.rate(1e5) == pytest.approx(8e-3 / math.sqrt(10), rel=0.01)
    assert "N^-0.50" in str(rule)
    assert "edge" not in str(rule)
    assert "edge" in str(RateRule(SweptSize(1e4, 8e-3, True), SweptSize(1e6, 8e-4, False)))
