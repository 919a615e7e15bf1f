"""An output matrix that is tied to the embedding for some steps, and then free."""

import pytest
import torch

import glasshouse
from glasshouse.specs.errors import SpecError
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas
from tests.refusals import refused
from tests.training.small_runs import CPU, character_spec, demo_spec, jobs_by_seed

MATRICES = ("embedding.weight", "head.weight")


def engine_of(text, *changes, tied=False):
    fields = ("model.tied=true",) if tied else ("model.tied=false", "training.tied_until=0.5")
    return Job.prepare(demo_spec(text, "training.clip=0.1", *fields, *changes), CPU).engine()


def matrices(engine):
    return [engine.model.get_parameter(name) for name in MATRICES]


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("training.optimiser=muon", "training.ema=0.9"),
        ("training.optimiser=lion", "training.learning_rate=1e-4"),
        ("training.optimiser=adafactor",),
        ("training.optimiser=sgd",),
    ],
    ids=str,
)
def test_it_equals_a_tied_model_until_it_is_free(text, changes):
    """Until half of the 12 steps all weights are those of a tied run, bit for bit."""
    untied, tied = engine_of(text, *changes), engine_of(text, *changes, tied=True)
    for step in range(6):
        one, other = untied.step(step), tied.step(step)
        assert torch.equal(one.losses, other.losses)
        assert torch.equal(one.gradient_norms, other.gradient_norms)
        assert torch.equal(*matrices(untied))
        for name, tensor in tied.model.state_dict().items():
            assert torch.equal(tensor, untied.model.state_dict()[name]), name
        for name, tensor in (tied.average or {}).items():
            assert torch.equal(tensor, untied.average[name]), name
    groups = untied.checkpoint_groups()["optimiser"]
    for name, tensor in groups.items():
        if name.startswith("head.weight/"):
            assert torch.equal(tensor, groups[name.replace("head", "embedding")]), name
    untied.step(6)
    tied.step(6)
    assert not torch.equal(*matrices(untied))
    assert not torch.equal(matrices(untied)[0], tied.model.get_parameter("embedding.weight"))


def test_gradient_accumulation_changes_rounding_alone(text):
    plain, accumulated = engine_of(text), engine_of(text, "training.gradient_accumulation=4")
    for step in range(8):
        torch.testing.assert_close(accumulated.step(step).losses, plain.step(step).losses, rtol=1e-4, atol=1e-5)
        assert torch.equal(*matrices(accumulated)) == (step < 6)


def test_replicas_are_tied_as_a_run_alone_is(text):
    spec = character_spec(text, "training.steps=8", "model.tied=false", "training.tied_until=0.5", "training.clip=0.1")
    jobs = jobs_by_seed(spec, 2)
    replicas, alone = Replicas(jobs), jobs[1].engine()
    for step in range(8):
        result, expected = replicas.step(step), alone.step(step)
        torch.testing.assert_close(result.losses[1], expected.losses[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(result.gradient_norms[1], expected.gradient_norms[0], rtol=1e-3, atol=1e-5)
        assert torch.equal(*(replicas.weights[name] for name in MATRICES)) == (step < 4)


def test_the_model_has_both_matrices_from_the_start(text):
    untied = Job.prepare(demo_spec(text, "model.tied=false"), CPU).model()
    assert engine_of(text).model.state_dict().keys() == untied.state_dict().keys()


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        (("model.tied=true",), (SpecError, "model.tied=false")),
        (("training.freeze=gradual",), (SpecError, "training.freeze='gradual'")),
        (("training.lora_rank=2",), (SpecError, "training.lora_rank=2")),
        (("training.layer_decay=0.5",), (SpecError, "training.layer_decay=0.5")),
        (("training.start_from=other",), (SpecError, "training.start_from='other'")),
    ],
)
def test_what_would_keep_the_matrices_apart_is_refused(text, changes, refusal):
    with refused(*refusal):
        demo_spec(text, "model.tied=false", "training.tied_until=0.5", *changes)


def test_a_model_without_an_output_matrix_is_refused(rows):
    changes = (f"data.files={rows}", "model.tied=false", "training.tied_until=0.5")
    with refused(SpecError):
        Job.prepare(glasshouse.runs.spec_of("classifier", *changes), CPU)
