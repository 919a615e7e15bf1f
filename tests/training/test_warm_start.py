"""Warm start: what a run inherits from another run, and what is refused."""

import pytest
import torch

import glasshouse
from glasshouse import models
from glasshouse.runs.run import Run
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import ModelSpec
from glasshouse.training import cost_plan, warm_start
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas
from tests import needs
from tests.refusals import refused
from tests.training import small_runs
from tests.training.small_runs import CPU, DEMO, FINE_TUNING, fine_tune, train_demo, with_seed

SEEDS = (2, 7)


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
    with refused(RunError):
        fine_tune(rows, "model.width=32", "model.heads=2")
    spec = glasshouse.runs.spec_of("classifier", f"data.files={rows}", "training.start_from=pretrained", "model.layers=2")
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
    with refused(RunError, "start_from", "'nothing'"):
        fine_tune(rows, "training.start_from=nothing")


@pytest.fixture(scope="module")
def pretrained_by_seed(tmp_path_factory, shared_cache):
    """A folder of runs `from-2`, `from-7`: one run of another seed each. No test may change it."""
    folder = tmp_path_factory.mktemp("by-seed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        patch.setattr(cost_plan, "TIMING_STEPS", 1)
        for seed in SEEDS:
            small_runs.pretrain(folder, f"training.seed={seed}", "training.steps=2", name=f"from-{seed}")
    return folder / "runs"


def backbone_is_equal(run, origin):
    """Whether every tensor below the head is that of the run that it should have started from."""
    new, old = run.model.state_dict(), Run(origin, "cpu").model.state_dict()
    return all(torch.equal(new[name], old[name]) for name in new if not name.startswith("head."))


@pytest.mark.parametrize("named", [True, *needs.slow(False)], ids=["a name in the runs folder", "a path"])
def test_seed_in_the_name_stands_for_the_seed_of_the_run_that_starts(named, pretrained_by_seed, monkeypatch, tmp_path, rows):
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(pretrained_by_seed if named else tmp_path / "elsewhere"))
    start = "from-{seed}" if named else str(pretrained_by_seed / "from-{seed}")
    spec = glasshouse.runs.spec_of("classifier", f"data.files={rows}", f"training.start_from={start}")
    assert spec.training.start_from == str(pretrained_by_seed.absolute() / "from-{seed}")
    assert (spec.model.width, spec.model.layers) == (16, 3), "the recipe has 64 and 2"
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(tmp_path / "new"))
    path = f"training.start_from={spec.training.start_from}"
    run = fine_tune(rows, path, "training.learning_rate=0", "training.seed=7", name="new")
    assert backbone_is_equal(run, pretrained_by_seed / "from-7")
    assert not backbone_is_equal(run, pretrained_by_seed / "from-2")
    assert any(note.startswith("started from from-7:") for note in run.facts["plan"]["notes"])


def test_replicas_each_start_from_the_run_of_their_seed(pretrained_by_seed, rows):
    start = f"training.start_from={pretrained_by_seed}/from-{{seed}}"
    job = Job.prepare(
        glasshouse.runs.spec_of("classifier", *FINE_TUNING, f"data.files={rows}", start, "training.seed=2"), CPU
    )
    jobs = [job.with_spec(with_seed(job.spec, seed)) for seed in SEEDS]
    for seed, replica in zip(SEEDS, Replicas(jobs).members, strict=True):
        old = Run(pretrained_by_seed / f"from-{seed}", "cpu").model.state_dict()
        weights = replica.checkpoint_groups()["model"]
        assert all(torch.equal(weights[name], old[name]) for name in weights if not name.startswith("head."))
    assert [job.notes[-1].partition(":")[0] for job in jobs] == [f"started from from-{seed}" for seed in SEEDS]
    assert len(jobs[0].notes) == len(jobs[1].notes), "the note of the first run is not repeated by the second"


def test_a_seed_without_a_run_to_start_from_is_refused(pretrained_by_seed, rows):
    with refused(RunError, "start_from", "from-4"):
        fine_tune(rows, f"training.start_from={pretrained_by_seed}/from-{{seed}}", "training.seed=4")
    with refused(RunError, "start_from", "nothing-{seed}"):
        fine_tune(rows, f"training.start_from={pretrained_by_seed}/nothing-{{seed}}")


def test_the_runs_of_a_name_are_found_by_their_seeds(tmp_path):
    for name in ("a-12/x", "a-3/x", "a-b/x", "a-03-1/x"):
        (tmp_path / name).mkdir(parents=True)
    assert warm_start._seeds_of_runs(str(tmp_path / "a-{seed}" / "x")) == [3, 12]
    assert warm_start._seeds_of_runs(str(tmp_path / "a-3" / "x")) == []


def test_an_output_matrix_is_untied_from_the_embedding_that_it_was(text, runs):
    """Training with `model.tied` and then without it: embeddings that are untied after a while."""
    tied = train_demo(text, name="tied")
    spec = glasshouse.runs.spec_of("demo-lm", *DEMO, f"data.files={text}", "training.start_from=tied", "model.tied=false")
    model = Job.prepare(spec, CPU).model()
    assert torch.equal(model.head.weight, model.embedding.weight)
    assert torch.equal(model.head.weight, tied.model.embedding.weight)
    assert model.head.weight is not model.embedding.weight
