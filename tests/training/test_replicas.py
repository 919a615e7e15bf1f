"""Replicas: several seeds as one program are, each, what the same seed is alone."""

import math
import shutil
from dataclasses import replace

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint, metric_log
from glasshouse.records.run_folder import RunFolder, create
from glasshouse.specs import catalogue
from glasshouse.specs.errors import Interrupted
from glasshouse.specs.spec import Spec
from glasshouse.training import loop, replica_count
from glasshouse.training.job import Job
from glasshouse.training.replicas import Replicas, alike
from tests.refusals import refused

CPU = torch.device("cpu")
TINY = (
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "training.batch=4",
    "training.precision=fp32",
    "training.threads=1",
)
# Not ReLU: alone, even its fused and plain attention part ways after some steps, since rounding decides which unit is on.
TEXT = ("data.context=16", "data.tokenizer=characters", "training.steps=100", "model.activation=gelu", *TINY)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The state of our union is strong, and we will keep it so for all who come after us.\n" * 60)
    return path


def spec_of(text, *changes: str) -> Spec:
    return glasshouse.spec_of("language-model", f"data.files={text}", *TEXT, *changes)


def varied(spec: Spec, seed: int, **training: float) -> Spec:
    return replace(spec, training=replace(spec.training, seed=seed, **training))


def jobs_of(spec: Spec, count: int = 3, device: str = "cpu") -> list[Job]:
    job = Job.of(spec, torch.device(device))
    return [replace(job, spec=varied(job.spec, seed)) for seed in range(count)]


def apart(job: Job, together: Replicas, number: int, steps: int) -> tuple[float, float]:
    """(largest difference of the losses, of the weights) of a replica from its job alone."""
    engine = job.engine()
    alone = [float(engine.step(step).losses[0]) for step in range(steps)]
    own = dict(engine.model.named_parameters())
    weights = max(float((own[name].detach() - tensor[number]).abs().max()) for name, tensor in together.weights.items())
    return max(abs(a - b) for a, b in zip(alone, together.seen[number], strict=True)), weights


def stepped(jobs: list[Job], steps: int) -> Replicas:
    together = Replicas(jobs)
    losses = [together.step(step).losses.tolist() for step in range(steps)]
    together.seen = list(zip(*losses, strict=True))  # type: ignore[attr-defined]
    return together


def test_a_hundred_steps_are_those_of_each_seed_alone(text):
    jobs = jobs_of(spec_of(text))
    together = stepped(jobs, 100)
    for number, job in enumerate(jobs):
        losses, weights = apart(job, together, number, 100)
        assert losses < 1e-4
        assert weights < 1e-4
    assert len({round(losses[-1], 6) for losses in together.seen}) == 3, "seeds differ"


def test_rates_decay_and_initialisation_may_differ(text):
    job = Job.of(spec_of(text), CPU)
    jobs = [
        replace(job, spec=varied(job.spec, 0)),
        replace(job, spec=varied(job.spec, 0, learning_rate=1e-2)),
        replace(job, spec=varied(job.spec, 0, weight_decay=0.7)),
        replace(job, spec=replace(job.spec, model=replace(job.spec.model, initialisation=1.0))),
    ]
    assert all(alike(jobs[0].spec, each.spec) for each in jobs)
    together = stepped(jobs, 20)
    for number, each in enumerate(jobs):
        assert max(apart(each, together, number, 20)) < 1e-4
    assert len({losses[-1] for losses in together.seen}) == 4
    assert not alike(jobs[0].spec, replace(job.spec, model=replace(job.spec.model, width=32)))


def words(family: str) -> list[str]:
    return [word for word in catalogue.names(family) if word not in ("none", "linformer")]


EVERY = [
    *(("language-model", f"model.attention={word}", "model.position=learned") for word in words("attention")),
    *(("language-model", f"model.position={word}") for word in catalogue.names("position")),
    *(("language-model", f"model.norm={word}") for word in catalogue.names("norm")),
    *(("language-model", f"model.connection={word}") for word in catalogue.names("connection")),
    *(("language-model", f"model.activation={word}") for word in catalogue.names("feed_forward")),
    *(
        ("language-model", "model.kind=recurrent", "model.attention=none", "model.position=none", f"model.cell={word}")
        for word in catalogue.names("cell")
    ),
    ("language-model", "training.ema=0.9", "training.label_smoothing=0.1", "training.layer_decay=0.5"),
    ("masked-model", "model.attention=linformer"),
    ("masked-model",),
]


@pytest.mark.parametrize("choice", EVERY, ids=lambda choice: " ".join(choice[-2:]))
def test_every_part_can_be_a_replica(choice, text):
    recipe, *changes = choice
    jobs = jobs_of(glasshouse.spec_of(recipe, f"data.files={text}", *TEXT, *changes), 2)
    together = stepped(jobs, 3)
    # The first step moves by the sign of a gradient, and a gradient of rounding alone has any sign.
    assert apart(jobs[1], together, 1, 3)[0] < 2e-5


TASKS = [
    ("arithmetic-finetune", "training.start_from=", "training.class_weights=[balanced]", "model.dropout=0"),
    ("piglatin-encoder-decoder", "model.dropout=0"),
    ("piglatin-decoder-only", "model.dropout=0"),
    ("scene-clip", "model.image_width=16", "model.image_layers=1"),
]


@pytest.mark.parametrize("choice", TASKS, ids=lambda choice: choice[0])
def test_every_task_can_be_asked_of_replicas(choice):
    recipe, *changes = choice
    jobs = jobs_of(glasshouse.spec_of(recipe, *changes, *TINY), 2)
    together = stepped(jobs, 3)
    assert apart(jobs[1], together, 1, 3)[0] < 2e-5


def runs_of(text, *changes: str, seeds=(0, 1, 2), stem: str = "r", **each) -> list[RunFolder]:
    spec = spec_of(text, "training.steps=30", "evaluation.every=10", *changes)
    return [
        create(varied(spec, seed, **{k: v[i] for k, v in each.items()}), f"{stem}-{seed}", stem)
        for i, seed in enumerate(seeds)
    ]


def logged(run: RunFolder) -> list[dict[str, float]]:
    clocks = ("seconds", "tokens_per_second")
    return [{k: v for k, v in row.items() if k not in clocks} for row in metric_log.read(run.metrics_file)]


def last(run: RunFolder) -> checkpoint.Checkpoint:
    saved = checkpoint.newest(run.checkpoints, print)
    assert saved
    return saved


def test_replicas_become_ordinary_runs(text):
    together = runs_of(text)
    assert loop.train_group(together, "cpu", together=True) == []
    alone = runs_of(text, stem="alone")
    for run in alone:
        loop.train(run, "cpu")
    for one, other in zip(together, alone, strict=True):
        assert one.facts()["status"] == "done"
        for mine, theirs in zip(logged(one), logged(other), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-4)
        assert one.facts()["outcome"]["test"]["loss"] == pytest.approx(other.facts()["outcome"]["test"]["loss"], abs=1e-4)
        for group, tensors in last(other).groups.items():
            assert tensors.keys() == last(one).groups[group].keys()
    run = glasshouse.open_run("r-1")
    assert run.spec.training.seed == 1
    assert run.sample("The state", tokens=5, temperature=0)[0].text
    assert run.evaluate()["test"]["loss"] == pytest.approx(run.facts["outcome"]["test"]["loss"], abs=1e-5)


def test_a_replica_can_go_on_alone(text, monkeypatch):
    whole = runs_of(text, stem="whole", seeds=(0, 1))
    loop.train_group(whole, "cpu", together=True)
    cut = runs_of(text, stem="cut", seeds=(0, 1))
    stop_at(monkeypatch, 17)
    with refused("interrupted", "18", "30"):
        loop.train_group(cut, "cpu", together=True)
    monkeypatch.undo()
    cut[1].record(together=["."])
    loop.train(cut[1], "cpu")
    for name, tensor in last(whole[1]).groups["model"].items():
        assert torch.allclose(tensor, last(cut[1]).groups["model"][name], atol=1e-4)


def stop_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Behave as if a signal came while this step is taken."""
    look = loop._Loop._look

    def signalled(self: loop._Loop) -> None:
        look(self)
        if self.step == step:
            self.watch.received = 15

    monkeypatch.setattr(loop._Loop, "_look", signalled)


def test_the_company_stays_the_same_when_one_has_failed_or_stopped(text, monkeypatch):
    """What dropout drops depends on how many there are."""
    changes = ("model.dropout=0.3", "training.patience=1", "training.warmup=0", "training.clip=0")
    rates = {"learning_rate": (1e25, 1e-2, 0.0, 1e-2), "seeds": (0, 1, 2, 3)}
    whole = runs_of(text, *changes, stem="whole", **rates)
    loop.train_group(whole, "cpu", together=True)
    assert [run.facts()["status"] for run in whole] == ["failed", "done", "done", "done"]
    assert whole[2].facts()["stopped"] == 20
    cut = runs_of(text, *changes, stem="cut", **rates)
    stop_at(monkeypatch, 24)
    with pytest.raises(Interrupted):
        loop.train_group(cut, "cpu", together=True)
    monkeypatch.undo()
    assert loop.train_group(cut, "cpu") == []
    for one, other in zip(whole[1:], cut[1:], strict=True):
        assert logged(one) == logged(other)
        assert one.facts()["outcome"]["test"] == other.facts()["outcome"]["test"]


def test_a_group_saves_all_or_none(text, monkeypatch):
    runs = runs_of(text, "training.checkpoint_every=1000", "evaluation.every=5", learning_rate=(1e-2, 0.0, 1e-2))
    stop_at(monkeypatch, 26)
    with pytest.raises(Interrupted):
        loop.train_group(runs, "cpu", together=True)
    monkeypatch.undo()
    shutil.rmtree(checkpoint.folder_of(runs[0].checkpoints, 27))
    seen = []
    monkeypatch.setattr(loop._Loop, "go", lambda self: seen.append(self.step) or [])
    loop.train_group(runs, "cpu")
    assert seen == [25]
    assert all(max(checkpoint.steps(run.checkpoints)) == 25 for run in runs), "later ones would pass for the newest"


def test_measuring_is_nobodys_training_time(text, monkeypatch):
    runs = runs_of(text)
    loop.train_group(runs, "cpu", together=True)
    assert len({run.facts()["outcome"]["seconds"] for run in runs}) == 1


@pytest.mark.parametrize("average", ["0", "0.9"])
def test_a_group_that_is_stopped_ends_as_if_it_had_not_been(text, monkeypatch, average):
    whole = runs_of(text, f"training.ema={average}", "model.dropout=0.1", stem="whole")
    loop.train_group(whole, "cpu", together=True)
    cut = runs_of(text, f"training.ema={average}", "model.dropout=0.1", stem="cut")
    stop_at(monkeypatch, 14)
    with pytest.raises(Interrupted):
        loop.train_group(cut, "cpu", together=True)
    monkeypatch.undo()
    # As if it had been killed before the last of them was saved: all go back to what they have in common.
    newest = checkpoint.folder_of(cut[2].checkpoints, 15)
    newest.rename(newest.with_name("elsewhere"))
    loop.train_group(cut, "cpu")
    for one, other in zip(whole, cut, strict=True):
        assert logged(one) == logged(other)
        for group, tensors in last(one).groups.items():
            assert all(torch.equal(tensor, last(other).groups[group][name]) for name, tensor in tensors.items())


def test_a_replica_that_diverges_is_frozen_and_the_others_go_on(text):
    changes = ("training.warmup=0", "training.clip=0")
    runs = runs_of(text, *changes, learning_rate=(1e-3, 1e25, 1e-3))
    wrong = loop.train_group(runs, "cpu", together=True)
    assert len(wrong) == 1
    assert wrong[0].startswith("r-1: step ")
    assert "not finite; the other replicas go on" in wrong[0]
    assert [run.facts()["status"] for run in runs] == ["done", "failed", "done"]
    assert all(math.isfinite(row["loss"]) for row in logged(runs[0]) if "loss" in row)
    alone = runs_of(text, *changes, stem="alone", seeds=(2,), learning_rate=(1e-3,))
    loop.train(alone[0], "cpu")
    assert runs[2].facts()["outcome"]["test"]["loss"] == pytest.approx(alone[0].facts()["outcome"]["test"]["loss"], abs=1e-4)
    assert loop.train_group(runs, "cpu") == [], "what has failed is not tried again"


def test_patience_ends_each_run_by_itself(text):
    # A rate of zero never gets better after its first evaluation.
    runs = runs_of(text, "training.patience=1", learning_rate=(1e-2, 0.0, 1e-2))
    loop.train_group(runs, "cpu", together=True)
    facts = [run.facts() for run in runs]
    assert [each["status"] for each in facts] == ["done"] * 3
    assert [each.get("stopped") for each in facts] == [None, 20, None]
    assert max(row["step"] for row in logged(runs[1])) == 20
    alone = runs_of(text, "training.patience=1", stem="alone", seeds=(1,), learning_rate=(0.0,))
    assert loop.train(alone[0], "cpu")
    assert alone[0].facts()["stopped"] == 20
    assert alone[0].facts()["outcome"]["validation"] == pytest.approx(facts[1]["outcome"]["validation"], abs=1e-4)


def test_runs_of_different_shapes_are_no_replicas(text):
    runs = [*runs_of(text, seeds=(0,)), *runs_of(text, "model.width=32", seeds=(1,))]
    with refused("cannot-be-replicas", "r-0", "r-1"):
        loop.train_group(runs, "cpu", together=True)


def test_what_cannot_be_carried_is_trained_one_after_another(text):
    spec = spec_of(text, "training.gradient_accumulation=2")
    count, why = replica_count.size(jobs_of(spec), None)
    assert (count, why) == (1, "one after another: training.gradient_accumulation=2 cuts batches into parts")
    with refused("cannot-be-replicas", "training.gradient_accumulation=2"):
        replica_count.size(jobs_of(spec), True)
    assert replica_count.size(jobs_of(spec_of(text)), False) == (1, "")
    count, why = replica_count.size(jobs_of(spec_of(text)), None)
    assert count in (1, 3)
    assert "ms" in why


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_as_many_replicas_as_are_said_to_fit_do(text, precision, monkeypatch):
    """On a device that has room for few, as on one that has room for many."""
    spec = spec_of(text, f"training.precision={precision}", "training.batch=512", "model.width=64")
    [job] = jobs_of(spec, 1, "cuda")
    there = 20 * replica_count.needed(job)
    monkeypatch.setattr(replica_count.plan, "memory_there", lambda device: there)
    count, why = replica_count.size(jobs_of(spec, 40, "cuda"), True)
    assert 1 <= count <= 16
    assert not why
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    replicas = Replicas(jobs_of(spec, count, "cuda"))
    for step in range(4):
        replicas.step(step)
    assert torch.cuda.max_memory_allocated() - before < there


def test_the_optimiser_forgets_nothing_of_a_frozen_encoder(text):
    jobs = jobs_of(glasshouse.spec_of("arithmetic-finetune", "training.start_from=", "training.freeze=backbone", *TINY), 2)
    together = stepped(jobs, 3)
    assert set(together.moving) == {name for name in together.weights if name.startswith("head.")}
    start = jobs[1].model().state_dict()
    assert all(torch.equal(tensor[1], start[name]) for name, tensor in together.fixed.items())


def test_a_set_that_was_killed_while_it_was_told_stays_together(text):
    runs = runs_of(text, "training.precision=auto")
    loop.train_group(runs, "cpu", together=True)
    again = runs_of(text, "training.precision=auto", stem="again")
    again[0].record(together=["../again-0", "../again-1", "../again-2"])
    again[1].spec_file.write_text(again[1].spec_file.read_text().replace('precision = "auto"', 'precision = "fp32"'))
    loop.train_group(again, "cpu")
    assert [run.facts()["together"] for run in again[:1]] == [["../again-0", "../again-1", "../again-2"]]
    assert again[2].spec().training.precision == "fp32"
    for one, other in zip(runs, again, strict=True):
        assert logged(one) == logged(other)
