"""Runs of a scaling study: branches equal runs from the start, each size has its rate, the largest budget is predicted."""

import json
from dataclasses import replace

import pytest
import torch

import glasshouse
from glasshouse.records import atomic_files, checkpoint
from glasshouse.records.run_folder import RunFolder
from glasshouse.scaling import budget_forecast, scale_study, scale_training
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.studies import run_queue

from .small_studies import TINY, TINY_PLAN, write_text

WORDS = (*TINY, "model.dropout=0.1", "training.schedule=warmup-stable-decay", "training.decay=0.3")
OPTIONS = {**TINY_PLAN, "spread": 2.5}


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    write_text(tmp_path / "text.txt")
    return (*WORDS, f"data.files={tmp_path / 'text.txt'}")


def final_weights(run):
    return checkpoint.load(run.checkpoints, max(checkpoint.steps(run.checkpoints))).weights


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 2])
def test_a_branch_equals_a_run_from_the_start(words, seeds):
    """Two seeds train as replicas."""
    study = glasshouse.scaling.plan(*words, budgets="1e8,3e8", seeds=seeds, rates="recipe", **OPTIONS)
    study = replace(study, sizes=tuple(replace(size, replicas=seeds) for size in study.sizes))
    atomic_files.write_json(study.path / scale_study.FILE, scale_study.to_json(study))
    assert study.saved_flops > 0.1 * study.flops
    assert scale_study.ONE_RATE in study.notes
    glasshouse.scaling.run("tiny", "cpu")
    size = next(size for size in study.sizes if size.saved_flops)
    branched = [
        queued for queued in scale_training._queue(study, None, [size.budget]) if f"/{size.name}/" in str(queued.run)
    ]
    assert len(branched) == seeds
    whole = [
        replace(queued, run=RunFolder(study.path / "alone" / queued.run.name), branch_of=None)
        for queued in branched
        if queued.branch_of is not None
    ]
    run_queue.run_all(whole, run_queue.Place("cpu"), study.path, "alone")
    for branch, alone in zip(branched, whole, strict=True):
        expected = final_weights(alone.run)
        for name, tensor in final_weights(branch.run).items():
            torch.testing.assert_close(tensor, expected[name], rtol=0, atol=0, msg=name)
        assert branch.run.facts()["outcome"]["validation"] == alone.run.facts()["outcome"]["validation"]
        steps = [json.loads(line)["step"] for line in branch.run.metrics_file.read_text().splitlines()]
        assert sorted(set(steps)) == list(range(1, size.steps + 1))
        # Its first steps were not taken again: the log of both runs is the same there, with its times.
        lines = branch.branch_of.metrics_file.read_text().splitlines() if branch.branch_of else []
        assert branch.run.metrics_file.read_text().splitlines()[0] == lines[0]


@pytest.mark.slow
def test_every_size_has_its_learning_rate_and_the_largest_budget_is_predicted_first(words, monkeypatch):
    monkeypatch.setattr(scale_study, "FACTORS", (0.5, 1.0, 2.0))
    study = glasshouse.scaling.plan(*words, budgets="1e8,2e8,4e8", seeds=1, **OPTIONS)
    assert len(study.swept) == 2
    assert {size.budget for size in study.swept} == {2e8}
    assert scale_study.learning_rates(study) is None
    assert budget_forecast.outcome_of(scale_study.find("tiny")) is None
    make, seen = budget_forecast.write, []

    def forecast(study):
        seen.append([size.budget for size in study.sizes if run_queue.status(study.run(size, 0)) != "absent"])
        make(study)

    monkeypatch.setattr(budget_forecast, "write", forecast)
    glasshouse.scaling.run("tiny", "cpu")
    assert len(seen) == 1
    assert max(seen[0]) == 2e8
    rule = scale_study.learning_rates(study)
    assert rule is not None
    for size in study.sizes:
        expected = rule.rate(size.parameters["without-embeddings-with-head"])
        assert study.run(size, 0).spec().training.learning_rate == expected
    assert "own learning rate" in " ".join(scale_study.notes(study))
    outcome = budget_forecast.outcome_of(scale_study.find("tiny"))
    assert outcome is not None
    assert outcome.forecast.refused or len(outcome.rows) == 4
    glasshouse.scaling.run("tiny", "cpu")
    assert len(seen) == 1
    for text in ("{", '{"sizes": [{}]}'):
        (study.path / budget_forecast.FILE).write_text(text)
        with pytest.raises(GlasshouseError) as caught:
            budget_forecast.outcome_of(scale_study.find("tiny"))
        assert isinstance(caught.value, RunError)


def test_a_sweep_goes_beyond_its_edge(words, monkeypatch):
    """Losses that fall with the rate: rates are added above, and the rule says so if they do not suffice."""
    study = glasshouse.scaling.plan(*words, budgets="1e8,2e8", seeds=1, **OPTIONS)
    losses: dict[float, float] = {}
    monkeypatch.setattr(scale_study.study_values, "final_value", lambda run, metric: losses.get(float(run.name)))
    size, highest = study.swept[0], study.rates[-1]
    assert scale_study.swept_rates(study, size) == list(study.rates)
    losses.update({rate: 3.0 - rate for rate in study.rates})
    assert scale_study.swept_rates(study, size) == [*study.rates, pytest.approx(2 * highest)]
    assert scale_study.learning_rates(study) is None
    losses[scale_study.swept_rates(study, size)[-1]] = 4.0
    assert len(scale_study.swept_rates(study, size)) == len(study.rates) + 1
    rule = scale_study.learning_rates(study)
    assert rule is not None
    assert not rule.small.at_edge
    losses.update({float(f"{highest * 2**power:.3g}"): 3.0 - power for power in range(1, 9)})
    assert len(scale_study.swept_rates(study, size)) == len(study.rates) + scale_study.EXTENSIONS
    rule = scale_study.learning_rates(study)
    assert rule is not None
    assert rule.small.at_edge
