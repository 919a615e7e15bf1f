"""Warm start: what a run inherits from another run, and what is refused."""

import torch

import glasshouse
from glasshouse import models
from glasshouse.specs.spec import ModelSpec
from glasshouse.training import warm_start
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.small_runs import CPU, fine_tune


def test_a_run_inherits_shape_tokenizer_and_weights(pretrained, rows):
    run = fine_tune(rows, "training.learning_rate=0")
    assert (run.spec.model.width, run.spec.model.layers) == (16, 3), "the recipe has 64 and 2"
    assert run.tokenizer.digest() == pretrained.tokenizer.digest()
    old, new = pretrained.model.state_dict(), run.model.state_dict()
    start = run.facts["start"]
    assert all(torch.equal(new[name], old[name]) for name in start["loaded"])
    assert set(start["new"]) | set(start["loaded"]) | set(start["partly"]) == set(new)
    assert all(name.startswith("head.") for name in (*start["new"], *start["left"]))
    assert "blocks.2.attention.projection.weight" in start["loaded"]
    assert any(note.startswith("started from pretrained: ") for note in run.facts["plan"]["notes"])


def test_an_override_wins_over_the_run_to_start_from(pretrained, rows):
    with refused("nothing-to-start-from"):
        fine_tune(rows, "model.width=32", "model.heads=2")
    spec = glasshouse.spec_of("classifier", f"data.files={rows}", "training.start_from=pretrained", "model.layers=2")
    job = Job.prepare(spec, CPU)
    assert any(name.startswith("blocks.2.") for name in job.transfer.left)


def test_a_shorter_table_of_positions_gets_the_first_rows(pretrained, rows):
    run = fine_tune(rows, "data.context=6", "training.learning_rate=0")
    (name,) = run.facts["start"]["partly"]
    assert torch.equal(run.model.state_dict()[name], pretrained.model.state_dict()[name][:6])


def test_the_encoder_of_an_encoder_decoder_can_start_from_an_encoder(pretrained):
    model = models.build(
        ModelSpec(kind="encoder-decoder", width=16, layers=3, heads=2, position="learned", bias=True), 40, 12
    )
    transfer = warm_start.transfer(model, warm_start.merged_weights(pretrained.folder))
    assert "encoder.blocks.0.attention.projection.weight" in transfer.loaded
    assert "decoder.blocks.0.cross_attention.attention.projection.weight" in transfer.new


def test_an_unknown_run_to_start_from_is_refused(rows):
    with refused("unknown-run", "start_from", "'nothing'"):
        fine_tune(rows, "training.start_from=nothing")
