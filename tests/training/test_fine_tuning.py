"""Starting from another run: what is taken over, what is frozen or thawed, adapters, slower depths, averaged weights."""

from pathlib import Path

import pytest
import torch
from torch import nn

import glasshouse
from glasshouse import models
from glasshouse.records import checkpoint
from glasshouse.specs.spec import HeadSpec, ModelSpec, TrainingSpec
from glasshouse.training import lora, warm_start
from glasshouse.training.freezing import UnfreezingSchedule, depths
from glasshouse.training.job import Job
from glasshouse.training.optimisers import AdamW
from tests.refusals import refused

CPU = torch.device("cpu")
SMALL = (
    "training.precision=fp32",
    "training.threads=1",
    "training.batch=8",
    "data.context=12",
    "model.dropout=0",
    "evaluation.every=4",
)
WORDS = {"sun": ["bright", "warm", "light"], "sea": ["wet", "blue", "salt"]}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.tsv"
    lines = [
        f"{label}\tthe {words[i % 3]} {words[(i + j) % 3]} {i}\n"
        for i in range(20)
        for j, (label, words) in enumerate(WORDS.items())
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def pretrained(tmp_path: Path, rows: Path) -> glasshouse.runs.Run:
    text = tmp_path / "text.txt"
    text.write_text("".join(line.split("\t")[1] for line in rows.read_text().splitlines(keepends=True)) * 4)
    shape = ("model.width=16", "model.layers=3", "model.heads=2", "data.vocabulary=280")
    return glasshouse.train(
        "masked-model", *SMALL, *shape, f"data.files={text}", "training.steps=8", name="pretrained", device="cpu"
    )


def fine_tuned(rows: Path, *more: str, name: str | None = None) -> glasshouse.runs.Run:
    steps = ("training.epochs=0", "training.steps=8", "training.start_from=pretrained")
    return glasshouse.train("classifier", *SMALL, f"data.files={rows}", *steps, *more, name=name, device="cpu")


def weights(run, step: int) -> dict[str, torch.Tensor]:
    return checkpoint.load(run.folder.checkpoints, step).groups["model"]


def test_a_run_takes_over_shape_tokenizer_and_weights(pretrained, rows):
    run = fine_tuned(rows, "training.learning_rate=0")
    assert (run.spec.model.width, run.spec.model.layers) == (16, 3), "the recipe's own are 64 and 2"
    assert run.tokenizer.digest() == pretrained.tokenizer.digest()
    theirs, ours = pretrained.model.state_dict(), run.model.state_dict()
    start = run.facts["start"]
    assert all(torch.equal(ours[name], theirs[name]) for name in start["loaded"])
    assert set(start["new"]) | set(start["loaded"]) | set(start["partly"]) == set(ours)
    assert all(name.startswith("head.") for name in (*start["new"], *start["left"]))
    assert "blocks.2.attention.projection.weight" in start["loaded"]
    assert any(note.startswith("started from pretrained: ") for note in run.facts["plan"]["notes"])


def test_an_override_wins_over_the_run_to_start_from(pretrained, rows):
    with refused("nothing-to-start-from"):
        fine_tuned(rows, "model.width=32", "model.heads=2")
    spec = glasshouse.spec_of("classifier", f"data.files={rows}", "training.start_from=pretrained", "model.layers=2")
    job = Job.of(spec, CPU)
    assert any(name.startswith("blocks.2.") for name in job.loaded.left)


def test_a_shorter_table_of_positions_is_filled_as_far_as_it_goes(pretrained, rows):
    run = fine_tuned(rows, "data.context=6", "training.learning_rate=0")
    (name,) = run.facts["start"]["partly"]
    assert torch.equal(run.model.state_dict()[name], pretrained.model.state_dict()[name][:6])


def test_an_encoder_of_another_kind_of_model_starts_from_an_encoder(pretrained):
    whole = models.build(
        ModelSpec(kind="encoder-decoder", width=16, layers=3, heads=2, position="learned", bias=True), 40, 12
    )
    found = warm_start.load(whole, warm_start.plain_weights(pretrained.folder))
    assert "encoder.blocks.0.attention.projection.weight" in found.loaded
    assert "decoder.blocks.0.cross_attention.attention.projection.weight" in found.new


def test_there_must_be_a_run_to_start_from(rows):
    with refused("unknown-run", "start_from", "'nothing'"):
        fine_tuned(rows, "training.start_from=nothing")


def test_a_frozen_encoder_stays_as_it_was_and_the_head_learns(pretrained, rows):
    run = fine_tuned(rows, "training.freeze=backbone", "training.learning_rate=0.05")
    before, after = pretrained.model.state_dict(), weights(run, 8)
    for name, tensor in after.items():
        assert torch.equal(tensor, before[name]) if name in before and not name.startswith("head.") else True
    assert not torch.equal(after["head.answer.weight"], weights(run, 4)["head.answer.weight"])
    assert "optimiser" in run.facts["plan"]["memory"]
    assert run.facts["plan"]["memory"]["optimiser"] < run.facts["plan"]["memory"]["weights"]


def test_thawing_goes_from_the_top_down(pretrained, rows):
    run = fine_tuned(
        rows, "training.freeze=gradual", "training.unfrozen_by=1", "evaluation.every=1", "training.checkpoint_every=2"
    )
    spec = run.spec
    model = models.build(spec.model, run.tokenizer.vocabulary, spec.data.context)
    thaw = UnfreezingSchedule(model, TrainingSpec(freeze="gradual", unfrozen_by=1.0, steps=8), 8)
    lowest = [thaw.lowest(step) for step in range(9)]
    assert lowest == sorted(lowest, reverse=True)
    assert lowest[0] == thaw.top
    assert lowest[8] == 0
    before, after = pretrained.model.state_dict(), weights(run, 8)
    known = depths(model)
    reached = thaw.lowest(7)
    for name in after:
        if name in before and not name.startswith("head."):
            assert torch.equal(after[name], before[name]) == (known[name] < reached), name


def test_nothing_to_train_is_refused():
    model = models.build(ModelSpec(width=16, layers=1, heads=2), 20, 8)
    with refused("nothing-to-train"):
        UnfreezingSchedule(model, TrainingSpec(freeze="backbone"), 5)
    with refused("lora-or-gradual"):
        glasshouse.specs.recipes.spec("demo-lm", ["training.lora_rank=2", "training.freeze=gradual"])


def test_depths_rise_through_the_model():
    model = models.build(ModelSpec(kind="encoder-decoder", width=16, layers=2, heads=2, position="learned"), 20, 8)
    known = depths(model)
    assert known["embedding.weight"] == 0
    assert known["encoder.blocks.1.attention.projection.weight"] == 2
    assert known["decoder.blocks.0.attention.projection.weight"] == 3
    assert known["decoder.final_norm.weight"] == max(known.values()) == 5
    paces = {g["pace"] for g in AdamW.build(model, TrainingSpec(layer_decay=0.5)).param_groups}
    assert paces == {0.5**n for n in range(6)}


def test_adapters_begin_as_nothing_and_merge_into_the_matrix():
    spec = ModelSpec(kind="encoder", width=16, layers=2, heads=2, head=HeadSpec("classifier", {"classes": 3}))
    plain, adapted = (models.build(spec, 20, 8, seed=4).eval() for _ in range(2))
    lora.attach(adapted, TrainingSpec(lora_rank=2, lora_targets=("projection", "up")))
    tokens = torch.randint(0, 20, (3, 8), generator=torch.Generator().manual_seed(1))
    assert torch.equal(adapted(tokens), plain(tokens))
    for name, parameter in adapted.named_parameters():
        if lora.is_adapter(name):
            nn.init.normal_(parameter)
    learned = adapted(tokens)
    assert not torch.allclose(learned, plain(tokens))
    lora.merge(adapted)
    assert adapted.state_dict().keys() == plain.state_dict().keys()
    torch.testing.assert_close(adapted(tokens), learned)
    with refused("unknown-lora-target"):
        lora.attach(plain, TrainingSpec(lora_rank=2, lora_targets=("query",)))


def test_a_run_with_adapters_opens_as_a_plain_one_and_can_be_started_from(pretrained, rows):
    run = fine_tuned(rows, "training.lora_rank=2", "training.learning_rate=0.05", name="adapted")
    before, saved, opened = pretrained.model.state_dict(), weights(run, 8), run.model.state_dict()
    matrix = "blocks.0.attention.projection"
    assert torch.equal(saved[f"{matrix}.parametrizations.weight.original"], before[f"{matrix}.weight"]), "frozen"
    assert not torch.equal(opened[f"{matrix}.weight"], before[f"{matrix}.weight"]), "merged"
    assert not any("parametrizations" in name for name in opened)
    again = fine_tuned(rows, "training.start_from=adapted", "training.learning_rate=0")
    assert torch.equal(again.model.state_dict()[f"{matrix}.weight"], opened[f"{matrix}.weight"])


@pytest.mark.parametrize("how", ["training.lora_rank=2", "training.freeze=gradual", "training.ema=0.9"])
def test_it_resumes_exactly(pretrained, rows, how):
    whole = fine_tuned(rows, how)
    half = fine_tuned(rows, how)
    for step in checkpoint.steps(half.folder.checkpoints)[1:]:
        for file in checkpoint.folder_of(half.folder.checkpoints, step).iterdir():
            file.unlink()
        checkpoint.folder_of(half.folder.checkpoints, step).rmdir()
    half.folder.record(status="training")
    resumed = glasshouse.resume(half.folder.path, device="cpu")
    one, two = (checkpoint.load(run.folder.checkpoints, 8).groups for run in (whole, resumed))
    for group in one:
        for name, tensor in one[group].items():
            assert torch.equal(tensor, two[group][name]), (group, name)


def test_the_average_is_what_is_measured_and_opened(rows):
    more = ("training.epochs=0", "training.steps=8", "training.ema=0.9", "training.learning_rate=0.02")
    run = glasshouse.train("classifier", *SMALL, f"data.files={rows}", *more, device="cpu")
    saved = checkpoint.best(run.folder.checkpoints, complain=print)
    opened = run.model.state_dict()
    name = "blocks.0.attention.projection.weight"
    assert torch.equal(opened[name], saved.groups["average"][name])
    assert not torch.equal(opened[name], saved.groups["model"][name])
    step = int(run.facts["best"]["step"])
    logged = next(row for row in run.metrics if row["step"] == step and "validation.loss" in row)
    assert run.evaluate()["validation"]["loss"] == pytest.approx(logged["validation.loss"], rel=1e-5)


def test_a_run_s_own_spec_reproduces_it(pretrained, rows):
    """What was changed against the run to start from stays changed."""
    run = fine_tuned(rows, "model.layers=2", "data.tokenizer=characters", "data.vocabulary=64")
    again = glasshouse.spec_of(str(run.folder.spec_file), "training.seed=1")
    assert again.model == run.spec.model
    assert (again.data.tokenizer, again.data.tokenizer_file) == ("characters", "")
    assert any("another tokenizer" in note for note in run.facts["plan"]["notes"])
    assert "embedding.weight" in run.facts["start"]["new"]


def test_it_resumes_without_the_run_it_started_from(pretrained, rows):
    run = fine_tuned(rows)
    last = checkpoint.steps(run.folder.checkpoints)[-1]
    for file in checkpoint.folder_of(run.folder.checkpoints, last).iterdir():
        file.unlink()
    run.folder.record(status="training")
    pretrained.folder.path.rename(pretrained.folder.path.with_name("elsewhere"))
    assert glasshouse.resume(run.folder.path, device="cpu").facts["status"] == "done"
