"""Matching of arms by each quantity: what changes, the notes on it, and what is refused."""

import math
import weakref
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from glasshouse.models import parameter_counts
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.studies import matching
from glasshouse.studies.matching import MatchedArms
from glasshouse.training import cost_plan
from glasshouse.training.engine import Engine
from tests.refusals import refused

Matching = Callable[..., MatchedArms]


def steps(matched: MatchedArms) -> list[int]:
    assert [job.steps for job in matched.jobs] == [job.spec.training.steps for job in matched.jobs]
    return [job.steps for job in matched.jobs]


def test_steps_are_as_the_specs_have_them(match: Matching) -> None:
    same = match("steps", "model.position=learned,alibi")
    assert steps(same) == [100, 100]
    assert same.about == "matched by steps: every arm takes 100"
    assert same.notes == ((), ())
    other = match("steps", "training.steps=50,100")
    assert steps(other) == [50, 100]
    assert "50 to 100: the arms are not matched" in other.about


def test_arms_with_larger_batches_take_fewer_steps_for_the_same_tokens(match: Matching) -> None:
    matched = match("tokens", "training.batch=4,8,3")
    assert steps(matched) == [100, 50, 133]
    # Every arm has the same number of evaluations: 100 / 20 = 5.
    assert [job.spec.evaluation.every for job in matched.jobs] == [20, 10, 27]
    assert matched.notes[0] == ()
    assert matched.notes[1] == ("50 steps instead of 100, to match the tokens of 4",)
    assert "133 steps instead of 100" in matched.notes[2][0]
    assert "-0.3%" in matched.notes[2][0]
    assert "evaluation.every" in matched.about


def test_arms_whose_batches_grow_take_more_steps(match: Matching) -> None:
    for quantity in ("tokens", "flops"):
        matched = match(quantity, "training.batch_warmup=0,0.8")
        assert steps(matched) == [100, 200]
        plain, growing = (job.stages.sequences_before(job.steps) for job in matched.jobs)
        assert plain == growing
    split = match("flops", "training.window_warmup=0,1", "training.steps=1000").jobs
    assert split[1].steps > 1000
    assert split[1].step_flops() * split[1].steps == pytest.approx(split[0].step_flops() * 1000, rel=1e-3)


def test_the_stages_of_batches_that_grow_are_timed_one_by_one(match: Matching, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step takes as long as its batch is large, on a machine without noise."""

    def step_seconds(engine: Engine, device: object) -> float:
        return sum(1e-3 * stage.batch * stage.steps for stage in engine.stages) / engine.steps

    monkeypatch.setattr(cost_plan, "step_seconds", step_seconds)
    matched = match("time", "training.batch_warmup=0,0.8")
    assert "each stage" in matched.about
    assert steps(matched) == [100, 200]


def test_flops_are_those_of_the_plan(match: Matching) -> None:
    matched = match("flops", "model.layers=2,4,1")
    one, two, half = matched.jobs
    totals = [job.step_flops() * job.steps for job in matched.jobs]
    assert all(math.isclose(total, totals[0], rel_tol=0.01) for total in totals)
    assert two.steps < one.steps < half.steps
    # The plan counts the same FLOPs and adds those of evaluation, here only the one at the end.
    rarely_evaluated = replace(one, spec=replace(one.spec, evaluation=replace(one.spec.evaluation, every=10**9)))
    planned = cost_plan.make(rarely_evaluated)
    assert planned.flops > totals[0]
    assert planned.flops - totals[0] < 0.5 * totals[0]


def test_a_wider_arm_gets_fewer_parameters(match: Matching) -> None:
    matched = match("parameters", "model.activation=gelu,swiglu", "model.feed_forward=64", "model.position=none")
    counts = [matching.count_parameters(job, job.spec.model) for job in matched.jobs]
    first, second = (job.spec.model for job in matched.jobs)
    assert (first.width, first.feed_forward) == (32, 64)
    assert second.width % second.heads == 0
    assert second.width < first.width
    assert second.feed_forward == round(64 * second.width / 32)
    assert abs(counts[1] / counts[0] - 1) < 0.1
    # The next widths on either side are further away.
    for step in (-2, 2):
        other = matching.count_parameters(
            matched.jobs[1], matching.with_width(matched.jobs[1].spec.model, second.width + step)
        )
        assert abs(other - counts[0]) >= abs(counts[1] - counts[0])
    (note,) = matched.notes[1]
    assert f"width {second.width} instead of 32" in note
    assert f"{counts[1]:,} parameters" in note
    assert "% against gelu" in note
    assert steps(matched) == [100, 100]


def test_widths_that_the_parts_do_not_allow_are_passed_over(match: Matching) -> None:
    """Rotary positions need heads of even width, so the width must be a multiple of four."""
    matched = match("parameters", "model.layers=2,4", "model.position=rotary", "model.width=64")
    assert matched.jobs[1].spec.model.width == 44
    assert match("parameters", "model.layers=2,4", "model.position=none", "model.width=64").jobs[1].spec.model.width == 46


def test_equal_parameters_stay_as_they_are(match: Matching) -> None:
    matched = match("parameters", "model.position=rotary,alibi,none")
    assert [job.spec.model.width for job in matched.jobs] == [32, 32, 32]
    assert matched.notes == ((), (), ())


@pytest.mark.parametrize(
    ("quantity", "words", "error"),
    [
        ("parameters", ("model.width=32,64",), (SpecError, "model.width")),
        ("parameters", ("model.heads=2,32", "model.layers=5", "model.feed_forward=9", "model.width=64"), None),
        ("parameters", ("model.position=none,one-hot", "data.context=256"), (SpecError,)),
        ("parameters", ("model.layers=1,40",), (SpecError,)),
        ("tokens", ("training.batch=4,3000",), (SpecError,)),
        ("tokens", ("training.steps=50,100",), (SpecError, "training.steps")),
        ("flops", ("training.steps=0", "training.epochs=1,2"), (SpecError, "training.epochs")),
        ("time", ("evaluation.every=10,20",), (SpecError, "evaluation.every")),
        ("steps", ("training.steps=20", "evaluation.every=20,50"), (SpecError, "'20'", "'50'")),
        ("beauty", ("model.norm=layer,rms",), (GlasshouseError, "beauty")),
    ],
)
def test_impossible_matches_are_refused(
    match: Matching, quantity: str, words: tuple[str, ...], error: tuple[str, ...] | None
) -> None:
    if error is None:
        matched = match(quantity, *words)
        assert matched.jobs[1].spec.model.width == 64
        return
    with refused(*error) as caught:
        match(quantity, *words)
    assert "\n" not in str(caught.value)


def test_recipes_that_matching_makes_equal_are_refused(match: Matching) -> None:
    """The recipes differ in steps, and one of them states its length in epochs; matching makes the two equal."""
    jobs = match("steps", "training.steps=50,100").jobs
    in_epochs = replace(jobs[0].spec.training, steps=0, epochs=0.5)
    first = replace(jobs[0], spec=replace(jobs[0].spec, training=in_epochs))
    with refused(SpecError, "'a'", "'b'", "--match=tokens"):
        matching.match("tokens", ["a", "b"], [first, jobs[1]], [])


def test_patience_is_named_where_it_may_end_a_run(match: Matching) -> None:
    assert "or fewer if training.patience" in match("steps", "model.norm=layer,rms", "training.patience=2").about
    assert "training.patience ends early gets less" in match("flops", "model.layers=2,4", "training.patience=2").about


def test_step_times_are_measured_in_rounds_and_stored(match: Matching, monkeypatch: pytest.MonkeyPatch) -> None:
    timed_layers: list[int] = []
    engines: list[weakref.ref[object]] = []

    def seconds(engine: object, device: torch.device) -> float:
        """A machine that becomes slower and slower, and on which the deeper arm always takes twice as long."""
        assert all(other() is None for other in engines), "only one arm may be on the device"
        engines.append(weakref.ref(engine))
        layers = engine.spec.model.layers
        timed_layers.append(layers)
        return 0.001 * layers * (1 + (len(timed_layers) - 1) // 2)

    monkeypatch.setattr(cost_plan, "step_seconds", seconds)
    matched = match("time", "model.layers=2,4")
    assert timed_layers == [2, 4] * matching.ROUNDS
    assert steps(matched) == [100, 50]
    assert len(matched.step_seconds[0]) == len(matched.step_seconds[1]) == matching.ROUNDS
    assert "timed alone" in matched.about


def test_step_times_of_real_models_are_measured(match: Matching, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 4)
    monkeypatch.setattr(matching, "ROUNDS", 2)
    matched = match("time", "model.layers=1,12")
    assert all(second > 0 for rounds in matched.step_seconds for second in rounds)
    assert matched.jobs[1].steps < matched.jobs[0].steps == 100


def test_parameters_are_counted_on_the_meta_device(match: Matching) -> None:
    job = match("steps", "model.norm=layer,rms").jobs[0]
    assert matching.count_parameters(job, job.spec.model) == parameter_counts.parameters(job.engine().model)
