"""A recorded step is the step it records, for every part, every task, one run and many. Most of this needs a CUDA device."""

import math
import weakref
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

import glasshouse
from glasshouse.records.run_folder import create
from glasshouse.tasks.base import IGNORED
from glasshouse.training import cuda_graphs, loop
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas
from tests.training.test_replicas import EVERY, TASKS, TEXT, TINY, logged, text, varied  # noqa: F401

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="recording needs a CUDA device")
STEPS = 7


def jobs_of(recipe: str, *changes: str, device: str = "cuda") -> dict[bool, Job]:
    """The job recorded (True) and launched kernel by kernel (False)."""
    spec = glasshouse.spec_of(recipe, *changes)
    job = Job.of(spec, torch.device(device))
    return {
        wanted: replace(job, spec=replace(job.spec, training=replace(job.spec.training, cuda_graph=wanted)))
        for wanted in (True, False)
    }


def taken(engine, steps: int = STEPS) -> list[list[float]]:
    found = [engine.step(step) for step in range(steps)]
    return [[*step.losses.tolist(), *step.gradient_norms.tolist()] for step in found]


def evaluated(job: Job, engine) -> list[dict[str, float]]:
    """What each member measures on the validation set, several times over, so that answers are recorded and replayed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_graphs, "OFTEN", 1)
        return [member.evaluate(job.prepared.splits["validation"]) for _ in range(3) for member in engine.members]


def same(one: list[dict[str, float]], other: list[dict[str, float]]) -> None:
    for ours, theirs in zip(one, other, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


def both_ways(jobs: dict[bool, Job], steps: int = STEPS) -> None:
    engines = {wanted: job.engine() for wanted, job in jobs.items()}
    before = {wanted: evaluated(jobs[wanted], engine) for wanted, engine in engines.items()}
    losses = {wanted: taken(engine, steps) for wanted, engine in engines.items()}
    after = {wanted: evaluated(jobs[wanted], engine) for wanted, engine in engines.items()}
    # Matching texts with pictures asks the model's halves, each by itself, which are not recorded.
    assert engines[True].answers.replays or jobs[True].spec.task == "match"
    assert not engines[False].answers.replays
    same(before[True], before[False])
    same(after[True], after[False])
    assert before[True][-1]["loss"] != after[True][-1]["loss"], "a recording kept weights as they were"
    assert engines[True].recorded.replays
    assert not engines[False].recorded.replays
    for one, other in zip(losses[True], losses[False], strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)
    assert losses[True][0] != losses[True][-1], "the steps moved nothing"


@needs_cuda
@pytest.mark.parametrize("choice", EVERY, ids=lambda choice: " ".join(choice[-2:]))
def test_every_part_can_be_recorded(choice, text):  # noqa: F811
    recipe, *changes = choice
    both_ways(jobs_of(recipe, f"data.files={text}", *TEXT, *changes))


@needs_cuda
@pytest.mark.parametrize("choice", TASKS, ids=lambda choice: choice[0])
def test_every_task_can_be_recorded(choice):
    recipe, *changes = choice
    both_ways(jobs_of(recipe, *changes, *TINY), steps=40)


@needs_cuda
@pytest.mark.parametrize(
    "changes",
    [
        ("model.dropout=0.2",),
        ("training.gradient_accumulation=2",),
        ("training.ema=0.9", "training.layer_decay=0.5"),
        ("training.precision=bf16",),
        ("training.clip=0",),
    ],
    ids=lambda changes: changes[0],
)
def test_every_way_of_training_can_be_recorded(changes, text):  # noqa: F811
    both_ways(jobs_of("language-model", f"data.files={text}", *TEXT, *changes))


@needs_cuda
@pytest.mark.parametrize("changes", [(), ("model.dropout=0.2", "training.ema=0.9"), ("training.precision=bf16",)])
def test_replicas_can_be_recorded(changes, text):  # noqa: F811
    jobs = jobs_of("language-model", f"data.files={text}", *TEXT, *changes)
    engines = {
        wanted: Replicas([replace(job, spec=varied(job.spec, seed)) for seed in range(3)]) for wanted, job in jobs.items()
    }
    losses = {wanted: taken(engine) for wanted, engine in engines.items()}
    assert engines[True].recorded.replays
    for one, other in zip(losses[True], losses[False], strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    measures = {wanted: evaluated(jobs[wanted], engine) for wanted, engine in engines.items()}
    assert engines[True].answers.replays
    same(measures[True], measures[False])
    for name, tensor in engines[True].weights.items():
        torch.testing.assert_close(tensor, engines[False].weights[name], rtol=1e-3, atol=1e-4)


@needs_cuda
def test_a_gradual_thaw_is_recorded_anew_for_every_layer(text):  # noqa: F811
    both_ways(
        jobs_of("language-model", f"data.files={text}", *TEXT, "training.freeze=gradual", "training.steps=24"), steps=24
    )


@needs_cuda
def test_a_recorded_step_that_is_not_finite_moves_nothing(text):  # noqa: F811
    job = jobs_of("language-model", f"data.files={text}", *TEXT)[True]
    engine = job.engine()
    taken(engine, 5)
    with torch.no_grad():
        first = next(engine.model.parameters())
        first[:] = math.inf
    before = {name: tensor.clone() for name, tensor in engine.model.state_dict().items()}
    engine.step(5), engine.step(6)
    assert engine.failures() == [5]
    for name, tensor in engine.model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], equal_nan=True)


@needs_cuda
def test_a_recorded_run_that_was_stopped_goes_on_as_if_it_had_not(text):  # noqa: F811
    spec = glasshouse.spec_of(
        "language-model", f"data.files={text}", *TEXT, "training.steps=30", "evaluation.every=10", "model.dropout=0.1"
    )
    whole, parted = create(spec, "whole", "r"), create(spec, "parted", "r")
    loop.train(whole, "cuda")
    whole_step = Engine.step

    def failing(self, step):
        if step == 15 and self.spec.training.learning_rate:  # a trial for the plan has none
            raise KeyboardInterrupt
        return whole_step(self, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "step", failing)
        with pytest.raises(KeyboardInterrupt):
            loop.train(parted, "cuda")
    loop.train(parted, "cuda")
    assert parted.facts()["status"] == "done"
    for one, other in zip(logged(whole), logged(parted), strict=True):
        assert one == pytest.approx(other, rel=1e-5)


@pytest.mark.parametrize("choice", TASKS, ids=lambda choice: choice[0])
def test_padding_to_steady_shapes_changes_no_loss(choice):
    recipe, *changes = choice
    job = jobs_of(recipe, *changes, *TINY, device="cpu")[True]
    engine = job.engine()
    batch = engine.batch(0)
    wide = cuda_graphs.steady(batch, job.task.largest_batch(1))
    assert engine.task.prediction_count(wide) == engine.task.prediction_count(batch)
    assert float(engine.gradients(0, wide)) == pytest.approx(float(engine.gradients(0, batch)), rel=1e-5)


def test_steady_shapes_are_few_and_never_too_wide():
    widest = {"inputs": torch.zeros(1, 40), "targets": torch.zeros(1, 40), "lengths": torch.zeros(1)}
    for long, wide in ((1, 16), (16, 16), (17, 32), (33, 40), (40, 40)):
        tokens = torch.ones(3, long, dtype=torch.int64)
        made = cuda_graphs.steady({"inputs": tokens, "targets": tokens, "lengths": torch.full((3,), long)}, widest)
        assert made["inputs"].shape == made["targets"].shape == (3, wide)
        assert made["lengths"].tolist() == [long] * 3
        assert int((made["targets"] != IGNORED).sum()) == int(made["inputs"].sum()) == 3 * long


def test_nothing_is_recorded_without_a_cuda_device(text):  # noqa: F811
    engine = jobs_of("language-model", f"data.files={text}", *TEXT, device="cpu")[True].engine()
    taken(engine, 4)
    assert not engine.recorded.wanted
    assert not engine.recorded.replays


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])
def test_an_engine_that_is_dropped_gives_its_memory_back_at_once(device, text):  # noqa: F811
    job = jobs_of("language-model", f"data.files={text}", *TEXT, device=device)[True]
    for make in (job.engine, lambda: Replicas([job, job])):
        engine = make()
        taken(engine, 4)
        kept = weakref.ref(engine)
        del engine
        assert kept() is None


class Asked(torch.nn.Linear):
    """A model of another package, whose task says nothing of lengths."""

    def forward(self, x, lengths=None):
        return F.linear(x, self.weight)


def test_what_is_no_tensor_is_answered_plainly():
    model = Asked(3, 2).eval()
    forward = cuda_graphs.RecordedForward(model, torch.device("cpu"), glasshouse.spec_of("demo-lm").training)
    forward.wanted = True
    x = torch.randn(4, 3)
    with torch.inference_mode():
        for _ in range(2 * cuda_graphs.OFTEN):
            torch.testing.assert_close(forward(x, lengths=None), F.linear(x, model.weight))
    assert not forward.replays
