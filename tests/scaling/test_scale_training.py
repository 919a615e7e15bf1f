"""Runs of a scaling study: branches equal runs from the start, each size has its rate, the largest budget is predicted."""

import json

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint
from glasshouse.scaling import rate_rule, scale_study, scale_training
from glasshouse.studies import run_queue

WORDS = (
    "characters",
    "data.vocabulary=64",
    "data.context=16",
    "model.width=16",
    "model.layers=1",
    "model.heads=1",
    "model.dropout=0.1",
    "training.batch=4",
    "training.threads=1",
    "training.precision=fp32",
    "training.schedule=warmup-stable-decay",
    "training.decay=0.3",
)
OPTIONS = {"most_epochs": 1e6, "sizes": 4, "name": "tiny", "device": "cpu", "spread": 2.5, "tokens_per_parameter": 1.0}


@pytest.fixture
def words(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    (tmp_path / "text.txt").write_text("".join(f"{number} green bottles hang on the wall. " for number in range(200)))
    return (*WORDS, f"data.files={tmp_path / 'text.txt'}")


def final_weights(run):
    return checkpoint.load(run.checkpoints, max(checkpoint.steps(run.checkpoints))).weights


def test_a_branch_equals_a_run_from_the_start(words):
    study = glasshouse.scale_plan(*words, budgets="1e8,3e8", seeds=1, rates="recipe", **OPTIONS)
    assert study.saved_flops > 0.1 * study.flops
    assert scale_study.ONE_RATE in study.notes
    branches = [size for size in study.sizes if size.saved_flops]
    assert branches
    glasshouse.scale_run("tiny", "cpu")
    queue = {queued.run: queued for queued in scale_training._queue(study, None, study.budgets)}
    for size in branches:
        queued = queue[study.run(size, 0)]
        assert queued.branch_of is not None
        alone = scale_study.RunFolder(study.path / "alone" / size.name)
        whole = run_queue.QueuedRun(alone, "alone", queued.spec, "characters", queued.facts)
        run_queue.run_all([whole], "cpu", "alone")
        branched = final_weights(queued.run)
        for name, tensor in final_weights(alone).items():
            torch.testing.assert_close(branched[name], tensor, rtol=0, atol=0, msg=name)
        assert queued.run.facts()["outcome"]["validation"] == alone.facts()["outcome"]["validation"]
        steps = [json.loads(line)["step"] for line in queued.run.metrics_file.read_text().splitlines()]
        assert sorted(set(steps)) == list(range(1, size.steps + 1))


def test_every_size_has_its_learning_rate_and_the_largest_budget_is_predicted_first(words, monkeypatch):
    monkeypatch.setattr(rate_rule, "FACTORS", (0.5, 1.0, 2.0))
    study = glasshouse.scale_plan(*words, budgets="1e8,2e8,4e8", seeds=1, **OPTIONS)
    assert len(study.swept) == 2
    assert {size.budget for size in study.swept} == {2e8}
    assert scale_study.learning_rates(study) is None
    assert glasshouse.scale_forecast("tiny") is None
    make, seen = scale_training._forecast, []

    def forecast(study):
        seen.append([size.budget for size in study.sizes if run_queue.status(study.run(size, 0)) != "absent"])
        return make(study)

    monkeypatch.setattr(scale_training, "_forecast", forecast)
    glasshouse.scale_run("tiny", "cpu")
    assert len(seen) == 1
    assert max(seen[0]) == 2e8
    rule = scale_study.learning_rates(study)
    assert rule is not None
    for size in study.sizes:
        expected = rule.rate(size.parameters["without-embeddings-with-head"])
        assert study.run(size, 0).spec().training.learning_rate == expected
    assert "own learning rate" in " ".join(scale_study.notes(study))
    outcome = glasshouse.scale_forecast("tiny")
    assert outcome is not None
    assert outcome.forecast.refused or len(outcome.rows) == 4
    glasshouse.scale_run("tiny", "cpu")
    assert len(seen) == 1
