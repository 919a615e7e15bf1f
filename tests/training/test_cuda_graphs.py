"""CUDA graphs: a replayed step equals the step itself, for every part and task. Most of these tests need a CUDA device."""

import math
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import glasshouse
from glasshouse.records.run_folder import create
from glasshouse.specs.spec import Spec
from glasshouse.tasks.base import IGNORED
from glasshouse.training import cuda_graphs, loop
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas, evaluate
from tests.needs import needs_cuda
from tests.training.small_runs import (
    CHARACTER_MODEL,
    PART_CHOICES,
    SMALL_MODEL,
    TASK_CHOICES,
    character_spec,
    logged_metrics,
    with_seed,
)

STEPS = 7


def graphed_and_plain_jobs(recipe: str, *changes: str, device: str = "cuda") -> dict[bool, Job]:
    """The job with CUDA graphs (True) and without them (False)."""
    return _graphed_and_plain(glasshouse.runs.spec_of(recipe, *changes), device)


def character_jobs(text: Path, *changes: str, device: str = "cuda") -> dict[bool, Job]:
    return _graphed_and_plain(character_spec(text, *changes), device)


def _graphed_and_plain(spec: Spec, device: str) -> dict[bool, Job]:
    job = Job.prepare(spec, torch.device(device))
    return {
        graphed: replace(job, spec=replace(job.spec, training=replace(job.spec.training, cuda_graph=graphed)))
        for graphed in (True, False)
    }


def take_steps(engine, steps: int = STEPS) -> list[list[float]]:
    """The losses and gradient norms of each step."""
    results = [engine.step(step) for step in range(steps)]
    return [[*result.losses.tolist(), *result.gradient_norms.tolist()] for result in results]


def evaluate_repeatedly(job: Job, engine) -> list[dict[str, float]]:
    """The validation metrics of each member, three times, so that forward passes are recorded and replayed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_graphs, "MIN_CALLS", 1)
        shard = job.prepared.splits["validation"]
        return [evaluate(member, shard, final=False).metrics for _ in range(3) for member in engine.members]


def assert_same_metrics(first: list[dict[str, float]], second: list[dict[str, float]]) -> None:
    for metrics, expected in zip(first, second, strict=True):
        assert metrics == pytest.approx(expected, rel=1e-4, abs=1e-5)


def assert_graphs_change_nothing(jobs: dict[bool, Job], steps: int = STEPS) -> None:
    """Steps and evaluations give the same numbers with CUDA graphs and without."""
    engines = {graphed: job.engine() for graphed, job in jobs.items()}
    before = {graphed: evaluate_repeatedly(jobs[graphed], engine) for graphed, engine in engines.items()}
    losses = {graphed: take_steps(engine, steps) for graphed, engine in engines.items()}
    after = {graphed: evaluate_repeatedly(jobs[graphed], engine) for graphed, engine in engines.items()}
    # The task `match` calls the two encoders of a dual encoder separately, and those calls are not recorded.
    assert engines[True].graphed_forward.replays or jobs[True].spec.task == "match"
    assert not engines[False].graphed_forward.replays
    assert_same_metrics(before[True], before[False])
    assert_same_metrics(after[True], after[False])
    assert before[True][-1]["loss"] != after[True][-1]["loss"], "a recorded forward pass kept the old weights"
    assert engines[True].graphed_step.replays
    assert not engines[False].graphed_step.replays
    for one, other in zip(losses[True], losses[False], strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-5)
    assert losses[True][0] != losses[True][-1], "the steps changed no weight"


@needs_cuda
@pytest.mark.parametrize("choice", PART_CHOICES, ids=lambda choice: " ".join(choice[-2:]))
def test_models_of_every_part_can_be_recorded(choice, text):
    recipe, *changes = choice
    assert_graphs_change_nothing(graphed_and_plain_jobs(recipe, f"data.files={text}", *CHARACTER_MODEL, *changes))


@needs_cuda
@pytest.mark.parametrize("choice", TASK_CHOICES, ids=lambda choice: choice[0])
def test_models_of_every_task_can_be_recorded(choice):
    recipe, *changes = choice
    assert_graphs_change_nothing(graphed_and_plain_jobs(recipe, *changes, *SMALL_MODEL), steps=40)


@needs_cuda
@pytest.mark.parametrize(
    "changes",
    [
        ("model.dropout=0.2",),
        ("training.gradient_accumulation=2",),
        ("training.ema=0.9", "training.layer_decay=0.5"),
        ("training.precision=tf32",),
        ("training.precision=bf16",),
        ("training.clip=0",),
    ],
    ids=lambda changes: changes[0],
)
def test_steps_with_every_training_option_can_be_recorded(changes, text):
    assert_graphs_change_nothing(character_jobs(text, *changes))


@needs_cuda
@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("model.dropout=0.2", "training.ema=0.9"),
        ("training.precision=tf32",),
        ("training.precision=bf16",),
        ("training.freeze=gradual", "training.steps=14"),
        ("training.batch_warmup=0.6", "training.window_warmup=0.8", "training.steps=14"),
    ],
)
def test_replicas_can_be_recorded(changes, text):
    jobs = character_jobs(text, *changes)
    engines = {
        graphed: Replicas([replace(job, spec=with_seed(job.spec, seed)) for seed in range(3)])
        for graphed, job in jobs.items()
    }
    losses = {graphed: take_steps(engine) for graphed, engine in engines.items()}
    assert engines[True].graphed_step.replays
    for one, other in zip(losses[True], losses[False], strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    metrics = {graphed: evaluate_repeatedly(jobs[graphed], engine) for graphed, engine in engines.items()}
    assert engines[True].graphed_forward.replays
    assert_same_metrics(metrics[True], metrics[False])
    for name, tensor in engines[True].weights.items():
        torch.testing.assert_close(tensor, engines[False].weights[name], rtol=1e-3, atol=1e-4)


@needs_cuda
@pytest.mark.parametrize(
    "changes",
    [(), ("training.precision=bf16",), pytest.param(("training.compile=true",), marks=pytest.mark.slow)],
    ids=str,
)
def test_batches_and_windows_that_grow_are_recorded_once_for_every_shape(changes, text):
    warmups = ("training.batch_warmup=0.6", "training.window_warmup=0.8", "training.steps=40", "data.context=64")
    jobs = character_jobs(text, *warmups, *changes)
    engines = {graphed: job.engine() for graphed, job in jobs.items()}
    losses = {graphed: take_steps(engine, 40) for graphed, engine in engines.items()}
    assert len(engines[True].graphed_step.replays) == len(jobs[True].stages) == 5
    for one, other in zip(losses[True], losses[False], strict=True):
        assert one == pytest.approx(other, rel=1e-2 if changes else 1e-4, abs=1e-5)


@needs_cuda
def test_gradual_unfreezing_is_recorded_again_for_every_layer(text):
    assert_graphs_change_nothing(character_jobs(text, "training.freeze=gradual", "training.steps=24"), steps=24)


@needs_cuda
def test_a_recorded_step_that_is_not_finite_changes_no_weight(text):
    job = character_jobs(text)[True]
    engine = job.engine()
    take_steps(engine, 5)
    with torch.no_grad():
        first = next(engine.model.parameters())
        first[:] = math.inf
    before = {name: tensor.clone() for name, tensor in engine.model.state_dict().items()}
    engine.step(5), engine.step(6)
    assert engine.failures() == [5]
    for name, tensor in engine.model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], equal_nan=True)


@needs_cuda
def test_a_recorded_run_that_was_interrupted_ends_as_if_it_had_not_been(text):
    spec = character_spec(text, "training.steps=30", "evaluation.every=10", "model.dropout=0.1")
    whole, resumed = create(spec, "whole", "r"), create(spec, "resumed", "r")
    loop.train(whole, "cuda")
    take_step = Engine.step

    def interrupted(self, step):
        if step == 15 and self.spec.training.learning_rate:  # an engine that is only timed has a learning rate of 0
            raise KeyboardInterrupt
        return take_step(self, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            loop.train(resumed, "cuda")
    loop.train(resumed, "cuda")
    assert resumed.facts()["status"] == "done"
    for row, expected in zip(logged_metrics(resumed), logged_metrics(whole), strict=True):
        assert row == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "choice",
    [pytest.param(choice, marks=[pytest.mark.slow] * (choice[0] == "scene-clip"), id=choice[0]) for choice in TASK_CHOICES],
)
def test_padding_to_few_shapes_changes_no_loss(choice):
    recipe, *changes = choice
    job = graphed_and_plain_jobs(recipe, *changes, *SMALL_MODEL, device="cpu")[True]
    engine = job.engine()
    batch = engine.batch(0)
    padded = cuda_graphs.pad_to_multiple(batch, job.task.largest_batch(1))
    assert engine.task.prediction_count(padded) == engine.task.prediction_count(batch)
    assert float(engine.gradients(0, padded)) == pytest.approx(float(engine.gradients(0, batch)), rel=1e-5)


def test_texts_are_padded_to_few_lengths_and_never_beyond_the_largest():
    largest = {"inputs": torch.zeros(1, 40), "targets": torch.zeros(1, 40), "lengths": torch.zeros(1)}
    for length, expected in ((1, 16), (16, 16), (17, 32), (33, 40), (40, 40)):
        tokens = torch.ones(3, length, dtype=torch.int64)
        batch = {"inputs": tokens, "targets": tokens, "lengths": torch.full((3,), length)}
        padded = cuda_graphs.pad_to_multiple(batch, largest)
        assert padded["inputs"].shape == padded["targets"].shape == (3, expected)
        assert padded["lengths"].tolist() == [length] * 3
        assert int((padded["targets"] != IGNORED).sum()) == int(padded["inputs"].sum()) == 3 * length


def test_nothing_is_recorded_without_a_cuda_device(text):
    engine = character_jobs(text, device="cpu")[True].engine()
    take_steps(engine, 4)
    assert not engine.graphed_step.enabled
    assert not engine.graphed_step.replays


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_cuda)])
def test_the_memory_of_an_engine_is_freed_with_its_last_reference(device, text):
    job = character_jobs(text, device=device)[True]
    for build in (job.engine, lambda: Replicas([job, job])):
        engine = build()
        take_steps(engine, 4)
        reference = weakref.ref(engine)
        del engine
        assert reference() is None


class LinearWithLengths(torch.nn.Linear):
    """A model of another package, whose task may pass no lengths."""

    def forward(self, x, lengths=None):
        return F.linear(x, self.weight)


def test_a_forward_pass_with_an_argument_that_is_not_a_tensor_is_not_recorded():
    model = LinearWithLengths(3, 2).eval()
    forward = cuda_graphs.GraphedForward(model, torch.device("cpu"), glasshouse.runs.spec_of("demo-lm").training)
    forward.enabled = True
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        for _ in range(2 * cuda_graphs.MIN_CALLS):
            torch.testing.assert_close(forward(x, lengths=None), F.linear(x, model.weight))
    assert not forward.replays
