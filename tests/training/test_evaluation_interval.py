"""The steps between evaluations that nobody names: eight evaluations at least, if they cost no more than the training."""

import math
from dataclasses import replace

import pytest
import torch

from glasshouse.runs import resolve_spec
from glasshouse.training import evaluation_interval
from glasshouse.training.evaluation_interval import EvaluationCost
from glasshouse.training.job import Job

CHEAP = EvaluationCost(steps=800, every=200, evaluation_tokens=100, step_tokens=1000)


def test_a_run_has_eight_evaluations() -> None:
    assert evaluation_interval.choose([CHEAP]) == 100
    assert evaluation_interval.choose([replace(CHEAP, steps=801)]) == 101
    assert evaluation_interval.choose([replace(CHEAP, steps=8000)]) == CHEAP.every, "the interval of the recipe is shorter"


@pytest.mark.parametrize("steps", [1, 2, 7, 8, 9, 15, 20, 40, 41, 150, 801])
def test_a_short_run_has_eight_evaluations_too(steps: int) -> None:
    every = evaluation_interval.choose([replace(CHEAP, steps=steps)])
    assert math.ceil(steps / every) >= min(steps, evaluation_interval.FEWEST_EVALUATIONS)
    assert math.ceil(steps / every) <= 2 * evaluation_interval.FEWEST_EVALUATIONS


def test_dear_evaluations_are_rarer_but_never_rarer_than_in_the_recipe() -> None:
    dear = replace(CHEAP, evaluation_tokens=450_000)
    chosen = evaluation_interval.choose([dear])
    assert CHEAP.steps / evaluation_interval.FEWEST_EVALUATIONS < chosen < CHEAP.every
    compute = chosen * evaluation_interval.PASSES_OF_STEP * dear.step_tokens
    assert dear.evaluation_tokens == pytest.approx(compute)
    assert evaluation_interval.choose([replace(dear, evaluation_tokens=10**7)]) == CHEAP.every


def test_an_interval_is_no_longer_than_the_run() -> None:
    dear = replace(CHEAP, steps=40, evaluation_tokens=450_000)
    assert dear.shortest > dear.steps
    assert evaluation_interval.choose([dear]) == 40
    assert evaluation_interval.choose([dear, replace(dear, steps=30)]) == 30


def test_few_evaluations_are_told_if_their_cost_is_the_reason() -> None:
    dear = replace(CHEAP, steps=400, evaluation_tokens=450_000)
    assert evaluation_interval.remark([dear], 150).startswith(
        "3 evaluations, every 150 steps: more would cost more than the"
    )
    assert evaluation_interval.remark([replace(dear, steps=40)], 40).startswith("evaluated only at the end: ")
    assert evaluation_interval.remark([CHEAP], 100) == ""
    assert evaluation_interval.remark([replace(CHEAP, steps=20)], 2) == ""
    assert evaluation_interval.remark([dear], dear.every) == "", "the recipe decides"


def test_several_jobs_share_the_interval_of_the_shortest() -> None:
    assert evaluation_interval.choose([CHEAP, replace(CHEAP, steps=400)]) == 50
    assert evaluation_interval.choose([CHEAP, replace(CHEAP, evaluation_tokens=450_000)]) == 150, "no job pays too much"


def test_epochs_are_counted_in_steps(tmp_path) -> None:
    rows = tmp_path / "rows.tsv"
    rows.write_text("text\tlabel\n" + "".join(f"text {i} says {i % 2}\t{i % 2}\n" for i in range(80)))
    words = ("classifier", f"data.files={rows}", "data.vocabulary=300", "data.context=16")
    spec = resolve_spec.spec_of(*words, "training.epochs=40", "training.batch=4")
    spec = replace(spec, data=replace(spec.data, adapt=(evaluation_interval.FIELD,)))
    job = Job.prepare(spec, torch.device("cpu"))
    assert job.steps / job.spec.evaluation.every == pytest.approx(evaluation_interval.FEWEST_EVALUATIONS, rel=0.1)
    assert job.spec.evaluation.every < spec.evaluation.every
    assert job.spec.data.adapt == (), "what a resumed run reads"
    assert job.with_spec(spec).spec.evaluation.every == job.spec.evaluation.every, "replicas have the same interval"
