"""Resuming: an interrupted run, or group of replicas, ends as if it had never been interrupted."""

import json
import shutil
from dataclasses import replace

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint, metric_log, run_folder
from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError, Interrupted, SpecError
from glasshouse.training import compute_choice, loop
from tests import needs
from tests.refusals import refused
from tests.training.small_runs import (
    delete_checkpoint,
    fine_tune,
    logged_metrics,
    new_runs,
    newest_checkpoint,
    saved_weights,
    stop_at,
    train_demo,
)

LINE = "The state of our union is strong, and we will keep it so for all who come after us.\n"


GROWING = ("training.batch_warmup=0.5", "training.window_warmup=0.8")
# Two seeds of a small language model, whose splits adapt to the amount of text.
REPLICAS = (
    "language-model",
    *("model.width=16", "model.layers=1", "model.heads=2", "data.context=16", "data.tokenizer=characters"),
    *("training.batch=4", "training.precision=fp32", "training.threads=1", "training.steps=2", "evaluation.every=2"),
    "training.replicas=2",
)
CHANGES = [(), ("model.dropout=0.2",), ("training.gradient_accumulation=2",), GROWING]


@pytest.fixture(scope="module", params=[(), *needs.slow(*CHANGES[1:])], ids=str)
def uninterrupted(request, tmp_path_factory, shared_cache) -> tuple[tuple[str, ...], Run]:
    """(changes of a spec, a run with these changes that was never interrupted)."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    (folder / "text.txt").write_text(LINE * 60)
    changes = (*request.param, "training.checkpoint_every=3")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        run = train_demo(folder / "text.txt", *changes, name="whole")
    return changes, run


@pytest.mark.parametrize("stop", [7, *(pytest.param(step, marks=pytest.mark.slow) for step in (1, 4, 11))])
def test_an_interrupted_run_ends_bit_identical(uninterrupted, text, stop, monkeypatch):
    changes, whole = uninterrupted
    take_step = loop.Engine.step
    interrupted_steps: list[int] = []

    def interrupted(self, step):
        if step == stop and self.spec.training.learning_rate and not interrupted_steps:  # not while steps are timed
            interrupted_steps.append(step)
            raise KeyboardInterrupt
        return take_step(self, step)

    monkeypatch.setattr(loop.Engine, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_demo(text, *changes, name="interrupted")
    resumed = glasshouse.resume("interrupted", device="cpu")
    assert interrupted_steps == [stop]
    for name, tensor in saved_weights(whole).items():
        assert torch.equal(tensor, saved_weights(resumed)[name]), name
    for metric in ("loss", "validation.loss", "gradient_norm", "learning_rate"):
        assert metric_log.column(whole.metrics, metric) == metric_log.column(resumed.metrics, metric)


def test_a_resumed_run_keeps_the_format_and_the_threads_of_its_start(text, monkeypatch):
    steps = iter(range(3))
    take_step = loop.Engine.step

    def interrupted(self, step):
        if self.spec.training.learning_rate and next(steps, None) is None:  # not while steps are timed
            raise KeyboardInterrupt
        return take_step(self, step)

    auto = ("training.precision=auto", "training.threads=0", "training.checkpoint_every=1")
    with monkeypatch.context() as patch:
        patch.setattr(loop.Engine, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train_demo(text, *auto, name="stopped")
    monkeypatch.setattr(compute_choice, "threads_by_rule", lambda flops: pytest.fail("the choice was made already"))
    run = glasshouse.resume("stopped", device="cpu")
    assert (run.spec.training.precision, run.spec.training.threads) == ("fp32", 1)
    assert run.facts["plan"]["choice"].startswith("fp32 on 1 thread: by rule")


@pytest.mark.parametrize("how", ["training.lora_rank=2", *needs.slow("training.freeze=gradual", "training.ema=0.9")])
def test_a_fine_tuned_run_resumes_exactly(pretrained, rows, how):
    whole = fine_tune(rows, how, name="whole")
    resumed = Run(shutil.copytree(whole.folder.path, whole.folder.path.with_name("resumed")), "cpu")
    for step in checkpoint.steps(resumed.folder.checkpoints)[1:]:
        delete_checkpoint(resumed.folder, step)
    resumed.folder.record(status="training")
    resumed = glasshouse.resume(resumed.folder.path, device="cpu")
    one, two = (checkpoint.load(run.folder.checkpoints, 8).groups for run in (whole, resumed))
    for group in one:
        for name, tensor in one[group].items():
            assert torch.equal(tensor, two[group][name]), (group, name)


def test_a_run_resumes_without_the_run_that_it_started_from(pretrained, rows):
    run = fine_tune(rows)
    last = checkpoint.steps(run.folder.checkpoints)[-1]
    for file in checkpoint.folder_of(run.folder.checkpoints, last).iterdir():
        file.unlink()
    run.folder.record(status="training")
    pretrained.folder.path.rename(pretrained.folder.path.with_name("elsewhere"))
    assert glasshouse.resume(run.folder.path, device="cpu").facts["status"] == "done"


def test_resuming_a_finished_run_does_nothing(text):
    run = train_demo(text)
    before = run.folder.metrics_file.read_text()
    glasshouse.resume(run.name, device="cpu")
    assert run.folder.metrics_file.read_text() == before


def test_a_run_whose_text_has_changed_cannot_be_resumed(text):
    run = train_demo(text)
    run.folder.record(status="training")
    with open(text, "a") as file:
        file.write("One more line.\n" * 20)
    with refused(GlasshouseError):
        glasshouse.resume(run.name, device="cpu")


def test_runs_of_different_shapes_cannot_be_replicas(text):
    runs = [*new_runs(text, seeds=(0,)), *new_runs(text, "model.width=32", seeds=(1,))]
    with refused(SpecError, "r-0", "r-1"):
        loop.train_group(runs, "cpu", together=True)


@pytest.mark.parametrize("freeze", ["none", pytest.param("gradual", marks=pytest.mark.slow)])
def test_a_replica_can_continue_alone(text, monkeypatch, freeze):
    whole = new_runs(text, f"training.freeze={freeze}", stem="whole", seeds=(0, 1))
    loop.train_group(whole, "cpu", together=True)
    stopped = new_runs(text, f"training.freeze={freeze}", stem="stopped", seeds=(0, 1))
    stop_at(monkeypatch, 6)
    with refused(Interrupted, "7", "12"):
        loop.train_group(stopped, "cpu", together=True)
    monkeypatch.undo()
    stopped[1].record(together=["."])
    loop.train(stopped[1], "cpu")
    for name, tensor in newest_checkpoint(whole[1]).groups["model"].items():
        assert torch.allclose(tensor, newest_checkpoint(stopped[1]).groups["model"][name], atol=1e-4)


@pytest.mark.parametrize(
    "change",
    [
        "training.ema=0",
        *(pytest.param(change, marks=pytest.mark.slow) for change in ("training.ema=0.9", "training.freeze=gradual")),
    ],
)
def test_a_group_that_is_stopped_ends_as_if_it_had_not_been(text, monkeypatch, change):
    whole = new_runs(text, change, "model.dropout=0.1", stem="whole")
    loop.train_group(whole, "cpu", together=True)
    stopped = new_runs(text, change, "model.dropout=0.1", stem="stopped")
    stop_at(monkeypatch, 5)
    with pytest.raises(Interrupted):
        loop.train_group(stopped, "cpu", together=True)
    monkeypatch.undo()
    # As after a kill before the last run was saved: all runs go back to their newest common checkpoint.
    newest = checkpoint.folder_of(stopped[2].checkpoints, 6)
    newest.rename(newest.with_name("elsewhere"))
    loop.train_group(stopped, "cpu")
    for one, other in zip(whole, stopped, strict=True):
        assert logged_metrics(one) == logged_metrics(other)
        for group, tensors in newest_checkpoint(one).groups.items():
            assert all(torch.equal(tensor, newest_checkpoint(other).groups[group][name]) for name, tensor in tensors.items())


def test_runs_that_failed_or_stopped_early_keep_their_places_in_a_resumed_group(text, monkeypatch):
    """The dropout masks depend on the number of replicas."""
    changes = ("model.dropout=0.3", "training.patience=1", "training.warmup=0", "training.clip=0")
    seeds, rates = (0, 1, 2, 3), (1e25, 1e-2, 0.0, 1e-2)
    whole = new_runs(text, *changes, stem="whole", seeds=seeds, learning_rates=rates)
    loop.train_group(whole, "cpu", together=True)
    assert [run.facts()["status"] for run in whole] == ["failed", "done", "done", "done"]
    assert whole[2].facts()["stopped"] == 8
    stopped = new_runs(text, *changes, stem="stopped", seeds=seeds, learning_rates=rates)
    stop_at(monkeypatch, 9)
    with pytest.raises(Interrupted):
        loop.train_group(stopped, "cpu", together=True)
    monkeypatch.undo()
    assert loop.train_group(stopped, "cpu") == []
    for one, other in zip(whole[1:], stopped[1:], strict=True):
        assert logged_metrics(one) == logged_metrics(other)
        assert one.facts()["outcome"]["test"] == other.facts()["outcome"]["test"]


def test_all_runs_of_a_group_save_or_none(text, monkeypatch):
    runs = new_runs(text, "training.checkpoint_every=1000", "evaluation.every=3", learning_rates=(1e-2, 0.0, 1e-2))
    stop_at(monkeypatch, 6)
    with pytest.raises(Interrupted):
        loop.train_group(runs, "cpu", together=True)
    monkeypatch.undo()
    delete_checkpoint(runs[0], 7)
    first_steps: list[int] = []

    def record_first_step(self):
        first_steps.append(self.step)
        return []

    monkeypatch.setattr(loop._Loop, "run", record_first_step)
    loop.train_group(runs, "cpu")
    assert first_steps == [6]
    assert all(max(checkpoint.steps(run.checkpoints)) == 6 for run in runs), "later checkpoints are deleted"


def test_a_group_that_was_killed_while_it_was_recorded_stays_together(text, monkeypatch):
    """Its runs share the choice of a number format that one of them recorded."""
    monkeypatch.setattr(compute_choice, "precision_by_rule", lambda *_: ("fp32", "in this test"))
    runs = new_runs(text, "training.precision=auto")
    loop.train_group(runs, "cpu", together=True)
    again = new_runs(text, "training.precision=auto", stem="again")
    names = ["../again-0", "../again-1", "../again-2"]
    together = [[*names[:own], ".", *names[own + 1 :]] for own in range(3)]
    again[0].record(together=together[0])
    again[1].spec_file.write_text(again[1].spec_file.read_text().replace('precision = "auto"', 'precision = "fp32"'))
    loop.train_group(again, "cpu")
    assert [run.facts()["together"] for run in again] == together
    assert again[2].spec().training.precision == "fp32"
    for one, other in zip(runs, again, strict=True):
        assert logged_metrics(one) == logged_metrics(other)


def test_a_group_that_was_killed_while_its_settings_were_adapted_stays_together(text):
    """The first run has the settings that adapt to the amount of text; the others still say that they adapt."""
    whole = glasshouse.runs.train_replicas(*REPLICAS, f"data.files={text}", name="whole", device="cpu")
    again = glasshouse.runs.train_replicas(*REPLICAS, f"data.files={text}", name="again", device="cpu")
    for run in again[1:]:
        adapting = run.folder.spec_file.read_text().replace("[data]", '[data]\nadapt = ["data.validation", "data.test"]')
        run.folder.spec_file.write_text(adapting)
    for run in again:
        shutil.rmtree(run.folder.checkpoints)
        facts = {name: fact for name, fact in run.folder.facts().items() if name not in ("plan", "outcome", "together")}
        (run.folder.path / "run.json").write_text(json.dumps({**facts, "status": "new"}))
    glasshouse.resume("again-seed-0", device="cpu")
    for one, other in zip(whole, again, strict=True):
        assert logged_metrics(one.folder) == logged_metrics(other.folder)
        assert not other.folder.spec().data.adapt


def test_a_replica_that_was_killed_before_it_was_recorded_has_the_same_facts(text):
    """The others had been recorded as runs that train one after another."""
    runs = glasshouse.runs.train_replicas(*REPLICAS, f"data.files={text}", name="runs", device="cpu")
    last = runs[-1].folder
    before = last.facts()
    shutil.rmtree(last.checkpoints)
    facts = {name: fact for name, fact in before.items() if name not in ("plan", "outcome", "together")}
    (last.path / "run.json").write_text(json.dumps({**facts, "status": "new"}))
    glasshouse.resume(runs[0].name, device="cpu")
    assert last.facts()["together"] == before["together"]


def test_replicas_that_were_killed_while_they_were_created_are_completed(text):
    whole = glasshouse.runs.train_replicas(*REPLICAS, f"data.files={text}", name="whole", device="cpu")
    spec = replace(whole[0].spec, training=replace(whole[0].spec.training, seed=0))
    names = [f"again-seed-{seed}" for seed in range(2)]
    run_folder.create(spec, names[0], "language-model", asked=["language-model"], family=names)
    glasshouse.resume(names[0], device="cpu")
    for one, name in zip(whole, names, strict=True):
        assert logged_metrics(one.folder) == logged_metrics(run_folder.find(name))
    run_folder.find(names[1]).path.rename("elsewhere")
    glasshouse.resume(names[0], device="cpu")
    assert not (run_folder.root() / names[1]).exists(), "a run that was deleted stays so"
