"""Replicas: each of several models that are trained as one program equals the same model trained alone."""

from dataclasses import dataclass, replace

import pytest
import torch

import glasshouse
from glasshouse.tasks import linear_cross_entropy
from glasshouse.training import cost_plan
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas, can_be_replicas
from tests.needs import needs_cuda
from tests.training.small_runs import (
    CHARACTER_MODEL,
    CPU,
    PART_CHOICES,
    SMALL_MODEL,
    TASK_CHOICES,
    character_spec,
    jobs_by_seed,
    with_seed,
)


@dataclass
class TrainedReplicas:
    """Replicas after some steps, and the loss of every step of each."""

    replicas: Replicas
    losses: list[tuple[float, ...]]


def train_together(jobs: list[Job], steps: int) -> TrainedReplicas:
    replicas = Replicas(jobs)
    losses = [replicas.step(step).losses.tolist() for step in range(steps)]
    return TrainedReplicas(replicas, list(zip(*losses, strict=True)))


def differences(job: Job, trained: TrainedReplicas, number: int, steps: int) -> tuple[float, float]:
    """(largest difference of the losses, largest difference of the weights) between a replica and its job trained alone."""
    engine = job.engine()
    alone = [float(engine.step(step).losses[0]) for step in range(steps)]
    weights = dict(engine.model.named_parameters())
    stacked = trained.replicas.weights
    weight_difference = max(float((weights[name].detach() - stacked[name][number]).abs().max()) for name in stacked)
    return max(abs(a - b) for a, b in zip(alone, trained.losses[number], strict=True)), weight_difference


@pytest.mark.slow
def test_a_hundred_steps_equal_those_of_each_seed_alone(text):
    jobs = jobs_by_seed(character_spec(text))
    trained = train_together(jobs, 100)
    for number, job in enumerate(jobs):
        losses, weights = differences(job, trained, number, 100)
        assert losses < 1e-4
        assert weights < 1e-4
    assert len({round(losses[-1], 6) for losses in trained.losses}) == 3, "the seeds differ"


@pytest.mark.slow
def test_compiled_replicas_equal_each_seed_alone(text):
    jobs = jobs_by_seed(character_spec(text))
    compiled = [replace(job, spec=replace(job.spec, training=replace(job.spec.training, compile=True))) for job in jobs]
    trained = train_together(compiled, 20)
    assert max(differences(jobs[1], trained, 1, 20)) < 1e-4


@needs_cuda
def test_compiled_replicas_keep_the_kernels_of_the_loss(text, monkeypatch):
    results, calls = {}, []
    loss_sum = linear_cross_entropy.loss_sum

    def counted(*values):
        calls.append(len(values))
        return loss_sum(*values)

    monkeypatch.setattr(linear_cross_entropy, "loss_sum", counted)
    for compiled in ("false", "true"):
        spec = character_spec(text, "training.precision=bf16", "model.width=64", f"training.compile={compiled}")
        results[compiled] = train_together(jobs_by_seed(spec, device="cuda"), 10).losses
        assert calls
        calls.clear()
    torch.testing.assert_close(torch.tensor(results["true"]), torch.tensor(results["false"]), rtol=5e-3, atol=5e-3)


def test_the_backward_pass_keeps_nothing_for_second_derivatives(text):
    """Tensors that the backward pass made would be held until its end, nearly as many as the forward pass makes."""
    replicas = Replicas(jobs_by_seed(character_spec(text)))
    batch, counts = replicas.batch(0)
    gradients, losses = replicas._gradients(batch, counts)
    assert all(gradient.grad_fn is None for gradient in gradients.values())
    assert losses.grad_fn is None


@pytest.mark.parametrize("number_format", ["bf16", "fp32"])
def test_replicas_keep_as_much_for_the_backward_pass_as_is_predicted(number_format, text):
    jobs = jobs_by_seed(character_spec(text, f"training.precision={number_format}", "training.batch=64", "model.bias=true"))
    replicas, saved = Replicas(jobs), dict[int, int]()
    weights = {tensor.untyped_storage()._cdata for tensor in replicas.weights.values()}

    def record(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights:
            saved[storage._cdata] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor):
        replicas._gradients(*replicas.batch(0))
    predicted = cost_plan.training_memory(jobs[0], number_format, of_replica=True)["activations"]
    assert sum(saved.values()) / len(jobs) == pytest.approx(predicted, rel=0.15)


def test_learning_rate_weight_decay_and_initialisation_may_differ(text):
    job = Job.prepare(character_spec(text), CPU)
    jobs = [
        replace(job, spec=with_seed(job.spec, 0)),
        replace(job, spec=with_seed(job.spec, 0, learning_rate=1e-2)),
        replace(job, spec=with_seed(job.spec, 0, weight_decay=0.7)),
        replace(job, spec=replace(job.spec, model=replace(job.spec.model, initialisation=1.0))),
    ]
    assert all(can_be_replicas(jobs[0].spec, other.spec) for other in jobs)
    trained = train_together(jobs, 20)
    for number, replica_job in enumerate(jobs):
        assert max(differences(replica_job, trained, number, 20)) < 1e-4
    assert len({losses[-1] for losses in trained.losses}) == 4
    assert not can_be_replicas(jobs[0].spec, replace(job.spec, model=replace(job.spec.model, width=32)))


@pytest.mark.parametrize("choice", PART_CHOICES, ids=lambda choice: " ".join(choice[-2:]))
def test_models_of_every_part_can_be_replicas(choice, text):
    recipe, *changes = choice
    jobs = jobs_by_seed(glasshouse.runs.spec_of(recipe, f"data.files={text}", *CHARACTER_MODEL, *changes), 2)
    trained = train_together(jobs, 3)
    # Only the losses are compared. The first step moves each weight by the sign of its gradient, and a gradient that
    # consists of rounding errors has a random sign.
    assert differences(jobs[1], trained, 1, 3)[0] < 2e-5


@pytest.mark.parametrize(
    "choice",
    [pytest.param(choice, marks=[pytest.mark.slow] * (choice[0] == "scene-clip")) for choice in TASK_CHOICES],
    ids=lambda choice: choice[0],
)
def test_models_of_every_task_can_be_replicas(choice):
    recipe, *changes = choice
    jobs = jobs_by_seed(glasshouse.runs.spec_of(recipe, *changes, *SMALL_MODEL), 2)
    trained = train_together(jobs, 3)
    assert differences(jobs[1], trained, 1, 3)[0] < 2e-5


def test_batches_and_windows_that_grow_are_those_of_each_seed_alone(text):
    changes = ("training.steps=10", "training.batch_warmup=0.6", "training.window_warmup=0.8")
    jobs = jobs_by_seed(character_spec(text, *changes), 2)
    trained = train_together(jobs, 10)
    shapes = [trained.replicas.batch(step)[0]["inputs"].shape for step in range(10)]
    assert shapes == [(2, 4, 4)] * 3 + [(2, 8, 4)] + [(2, 4, 8)] * 2 + [(2, 8, 8)] * 2 + [(2, 4, 16)] * 2
    assert differences(jobs[1], trained, 1, 10)[0] < 1e-4


def test_a_frozen_backbone_stays_frozen_in_every_replica():
    spec = glasshouse.runs.spec_of("arithmetic-finetune", "training.start_from=", "training.freeze=backbone", *SMALL_MODEL)
    jobs = jobs_by_seed(spec, 2)
    replicas = train_together(jobs, 3).replicas
    initial = jobs[1].model().state_dict()
    changed = {name for name, tensor in replicas.weights.items() if not torch.equal(tensor[1], initial[name])}
    assert changed == {name for name in replicas.weights if name.startswith("head.")}


def test_gradual_unfreezing_equals_that_of_each_seed_alone():
    freeze = ("training.start_from=", "training.freeze=gradual", "training.unfrozen_by=0.5", "training.epochs=0")
    changes = ("training.steps=12", "model.dropout=0", *SMALL_MODEL)
    jobs = jobs_by_seed(glasshouse.runs.spec_of("arithmetic-finetune", *freeze, *changes), 2)
    trained = train_together(jobs, 12)
    for number, job in enumerate(jobs):
        losses, weights = differences(job, trained, number, 12)
        assert losses < 2e-5
        assert weights < 1e-4
    steps = {name: int(count) for name, count in trained.replicas.optimiser.steps_taken.items()}
    assert steps["embedding.weight"] < max(steps.values()) == 12, "the embedding is unfrozen last"


def test_replicas_have_the_buffers_that_the_task_initialises(tmp_path):
    """A classifier's naive Bayes evidence is a buffer, which the task counts from the training split."""
    (tmp_path / "rows.tsv").write_text("sea\tship and waves\nland\tgrass and stone\n" * 8)
    changes = ("data.tokenizer=words", "data.validation=0", "data.test=0", "training.steps=3")
    job = Job.prepare(
        glasshouse.runs.spec_of(
            "classifier", f"data.files={tmp_path / 'rows.tsv'}", *changes, *SMALL_MODEL, "model.head.naive_bayes=0.7"
        ),
        CPU,
    )
    evidence = Replicas([job, job]).buffers["head.evidence_VC"][1]
    assert evidence.any()
    assert torch.equal(evidence, job.model().head.evidence_VC)
