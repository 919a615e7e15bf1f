"""Training: the loop learns, parts of a batch add up, schedules are as drawn, runs resume exactly, failures are kept."""

import math
import signal
from dataclasses import replace

import pytest
import torch

import glasshouse
from glasshouse.records import checkpoint, metric_log, run_folder
from glasshouse.runs import suggestions
from glasshouse.specs import recipes
from glasshouse.specs.spec import TrainingSpec
from glasshouse.training import cost_plan as planning
from glasshouse.training import devices, loggers, loop, nonfinite, precision, schedules
from glasshouse.training import engine as engine_module
from glasshouse.training.engine import Engine, load_weights
from glasshouse.training.job import Job
from tests.refusals import refused

TINY = (
    "data.vocabulary=280",
    "data.context=16",
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "model.feed_forward=32",
    "training.batch=8",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=4",
    "evaluation.tokens=600",
)
CPU = torch.device("cpu")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The state of our union is strong, and the state of our people is stronger still.\n" * 120)
    return f"data.files={path}"


def tiny(text, *more):
    return recipes.spec("demo-lm", [*TINY, text, "training.steps=12", *more])


def train(text, *more, name=None):
    return glasshouse.train("demo-lm", *TINY, text, "training.steps=12", *more, name=name, device="cpu")


def weights(run, step=None):
    steps = checkpoint.steps(run.folder.checkpoints)
    return checkpoint.load(run.folder.checkpoints, step or steps[-1]).groups["model"]


def test_it_learns(text):
    run = train(text, "training.steps=80", "training.learning_rate=0.01", "evaluation.every=20")
    losses = metric_log.column(run.metrics, "loss")[1]
    assert losses[0] > 5.0
    assert losses[-1] < 1.5
    assert run.facts["status"] == "done"
    assert run.facts["outcome"]["test"]["perplexity"] < 6
    assert run.evaluate()["test"]["loss"] == pytest.approx(run.facts["outcome"]["test"]["loss"], rel=1e-5)
    assert run.folder.report_file.exists()


def test_parts_of_a_batch_add_up(text):
    """Losses and gradients are the same in one part, two or eight."""
    found = []
    for parts in (1, 2, 8):
        engine = Job.of(tiny(text, f"training.gradient_accumulation={parts}"), CPU).engine()
        loss = engine.gradients(0, engine.batch(0))
        found.append((loss, [parameter.grad.clone() for parameter in engine.model.parameters()]))
    for loss, gradients in found[1:]:
        torch.testing.assert_close(loss, found[0][0], rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(gradients, found[0][1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("more", [(), ("model.dropout=0.2",), ("training.gradient_accumulation=2",)], ids=str)
@pytest.mark.parametrize("stop", [1, 4, 7, 11])
def test_an_interrupted_run_ends_bit_identical(text, stop, more, monkeypatch):
    whole = train(text, *more, "training.checkpoint_every=3", name="whole")
    step = loop.Engine.step

    def dying(self, number):
        if number == stop and not died:
            died.append(number)
            raise KeyboardInterrupt
        return step(self, number)

    died: list[int] = []
    monkeypatch.setattr(loop.Engine, "step", dying)
    monkeypatch.setattr(planning, "step_seconds", lambda *_: 0.01)
    with pytest.raises(KeyboardInterrupt):
        train(text, *more, "training.checkpoint_every=3", name="cut")
    cut = glasshouse.resume("cut", device="cpu")
    assert died == [stop]
    for name, tensor in weights(whole).items():
        assert torch.equal(tensor, weights(cut)[name]), name
    for metric in ("loss", "validation.loss", "gradient_norm", "learning_rate"):
        assert metric_log.column(whole.metrics, metric) == metric_log.column(cut.metrics, metric)


def test_the_spec_alone_reproduces_a_run(text):
    first = train(text, "training.seed=3")
    again = glasshouse.train(str(first.folder.spec_file), name="again", device="cpu")
    assert again.spec == first.spec
    assert all(torch.equal(tensor, weights(again)[name]) for name, tensor in weights(first).items())
    other = train(text, "training.seed=4")
    assert not all(torch.equal(tensor, weights(other)[name]) for name, tensor in weights(first).items())


def test_resuming_a_finished_run_does_nothing(text):
    run = train(text)
    before = run.folder.metrics_file.read_text()
    glasshouse.resume(run.name, device="cpu")
    assert run.folder.metrics_file.read_text() == before


def test_changed_text_cannot_be_continued(text, monkeypatch):
    run = train(text)
    run.folder.record(status="training")
    path = text.removeprefix("data.files=")
    with open(path, "a") as file:
        file.write("One more line.\n" * 20)
    with refused("data-changed"):
        glasshouse.resume(run.name, device="cpu")


def test_epochs_make_steps(text):
    run = glasshouse.train("demo-lm", *TINY, text, "training.epochs=1.5", device="cpu")
    job = Job.of(run.spec, CPU)
    examples = job.task.example_count(job.prepared.splits["train"])
    assert job.steps == math.ceil(1.5 * examples / 8)
    assert run.metrics[-1]["step"] == job.steps


def test_the_best_checkpoint_is_kept_and_used(text):
    run = train(text, "training.steps=60", "training.learning_rate=0.3", "evaluation.every=5", "training.schedule=constant")
    steps, losses = metric_log.column(run.metrics, "validation.loss")
    best = int(steps[losses.index(min(losses))])
    assert run.facts["best"]["step"] == best
    assert best in checkpoint.steps(run.folder.checkpoints)
    stored = weights(run, best)
    assert all(torch.equal(tensor, stored[name]) for name, tensor in run.model.state_dict().items())


def test_schedules():
    def curve(**fields):
        return [schedules.rate(TrainingSpec(learning_rate=1.0, **fields), step, 100) for step in range(100)]

    rising = curve(schedule="constant", warmup=0.1)
    assert rising[:10] == pytest.approx([(n + 1) / 10 for n in range(10)])
    assert set(rising[10:]) == {1.0}
    cosine = curve(schedule="cosine", warmup=0.1, final=0.2)
    assert cosine[10] == 1.0
    assert cosine[55] == pytest.approx(0.6)
    assert 0.2 <= cosine[99] < 0.21
    assert cosine[10:] == sorted(cosine[10:], reverse=True)
    flat = curve(schedule="warmup-stable-decay", warmup=0.0, decay=0.25, final=0.0)
    assert flat[:75] == [1.0] * 75
    assert flat[99] == pytest.approx(0.04)


def test_the_optimiser_decays_matrices_alone(text):
    engine = Job.of(tiny(text), CPU).engine()
    decayed, others = engine.optimiser.param_groups
    assert all(p.dim() == 2 for p in decayed["params"])
    assert all(p.dim() == 1 for p in others["params"])
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)


def test_a_loss_that_is_not_finite_stops_and_can_be_replayed(text):
    with refused("training-failed") as e:
        train(text, "training.learning_rate=1e25", "training.warmup=0", "training.clip=0", name="broken")
    run = glasshouse.open_run("broken")
    assert run.facts["status"] == "failed"
    replay = glasshouse.replay("broken")
    first = next(finding for finding in replay.outputs if finding.bad)
    assert f"first in the {first.kind} of {first.module};" in str(e.value)
    assert not math.isfinite(replay.loss) or first.kind == "gradient"


def test_gradients_are_examined_in_the_order_of_the_backward_pass(text):
    engine = Job.of(tiny(text), CPU).engine()
    _, findings = nonfinite.examine(engine, 0, engine.batch(0))
    order = [finding.module for finding in findings if finding.kind == "gradient"]
    assert order[0] == "final_norm.weight"
    inside = [
        order.index(f"blocks.1.feed_forward{name}") for name in (".down.weight", ".up.weight", "_connection.norm.weight")
    ]
    assert inside == sorted(inside)
    assert order[-1] == "embedding.weight"


def test_a_plan_that_cannot_fit_is_refused(text):
    with refused("too-little-memory"):
        planning.make(Job.of(tiny(text, "training.batch=100000000"), CPU))


def test_json_lines_are_evaluated_as_documents(text, tmp_path):
    run = train(text)
    (tmp_path / "a.txt").write_text("The state of our union is strong.")
    (tmp_path / "a.jsonl").write_text('{"text": "The state of our union is strong.", "year": 1}\n')
    plain, rows = (run.evaluate(tmp_path / name) for name in ("a.txt", "a.jsonl"))
    assert next(iter(plain.values())) == next(iter(rows.values()))


def test_suggestions_work_as_they_stand(text):
    run = train(text, 'evaluation.prompts=["The state, of", "b"]')
    assert run.spec.evaluation.prompts == ("The state, of", "b")
    last = suggestions.commands(run)[-1].split()
    again = glasshouse.train(*last[2:], name="again", device="cpu")
    assert again.spec.model.position == "learned"
    assert "model.position=rotary" in suggestions.commands(again)[-1]


def test_one_stop_string_may_be_given_bare(text):
    run = train(text, "training.steps=40", "training.learning_rate=0.01")
    one, several = (run.sample("The", tokens=40, temperature=0, stop=stop)[0] for stop in ("union", ["union"]))
    assert one.text == several.text


def test_replay_needs_a_failure(text):
    train(text, name="fine")
    with refused("no-failure"):
        glasshouse.replay("fine")


def test_the_plan_counts_what_training_spends(text):
    spec = tiny(text)
    job = Job.of(spec, CPU)
    plan = planning.make(job)
    engine = job.engine()
    assert sum(plan.parameters.values()) == sum(p.numel() for p in engine.model.parameters())
    assert plan.tokens == 12 * 8 * 16
    assert plan.memory["weights"] == 4 * sum(plan.parameters.values())
    assert plan.flops > 12 * 8 * 3 * engine.model.flops(16)
    assert 0 < plan.step_seconds < 5


def test_the_memory_of_activations_is_what_autograd_saves(text):
    job = Job.of(tiny(text), CPU)
    engine = job.engine()
    own = {p.untyped_storage().data_ptr() for p in engine.model.parameters()}
    saved: dict[int, int] = {}

    def keep(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = engine.task.loss_sum(engine.model, engine.batch(0))
    predicted = planning.memory(job, "fp32")["activations"]
    assert predicted == pytest.approx(sum(saved.values()), rel=0.1)
    assert loss.isfinite()


def test_bf16_is_chosen_only_when_it_is_faster(monkeypatch):
    rates = {"fp32": 1.0, "bf16": 2.0}
    monkeypatch.setattr(precision, "matrix_rate", lambda device, name, size, seconds: rates[name])
    assert precision.choose(CPU, {"fp32": 2.0, "bf16": 1.0}.__getitem__)[0] == "bf16"
    assert precision.choose(CPU, {"fp32": 1.1, "bf16": 1.0}.__getitem__)[0] == "fp32"
    rates["bf16"] = 0.01
    assert precision.choose(CPU, lambda name: pytest.fail("a step in bf16 would take minutes here"))[0] == "fp32"


@pytest.mark.parametrize(("alone", "together", "chosen"), [(1.0, 2.0, 1), (1.0, 1.1, 4), (2.0, 1.0, 4)])
def test_threads_are_chosen_by_measuring(text, monkeypatch, alone, together, chosen):
    job, now = Job.of(tiny(text, "training.threads=0"), CPU), [4]
    monkeypatch.setattr(torch, "get_num_threads", lambda: now[0])
    monkeypatch.setattr(torch, "set_num_threads", lambda count: now.__setitem__(0, count))
    monkeypatch.setattr(planning, "step_seconds", lambda *_: alone if now[0] == 1 else together)
    plan = planning.make(job)
    assert plan.threads == chosen
    assert plan.step_seconds == (alone if chosen == 1 else together)
    assert now == [4], "torch is left as it was"


def test_bf16_trains(text):
    run = train(text, "training.precision=bf16", "training.steps=2", "model.layers=1", "evaluation.tokens=64")
    assert all(math.isfinite(loss) for loss in metric_log.column(run.metrics, "loss")[1])
    assert weights(run)["embedding.weight"].dtype == torch.float32


def test_tensorboard_gets_every_metric(text):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train(text, "training.loggers=[tensorboard]")
    events = EventAccumulator(str(run.folder.path / "tensorboard")).Reload()
    for name in ("loss", "validation.perplexity", "learning_rate"):
        steps, values = metric_log.column(run.metrics, name)
        scalars = events.Scalars(name)
        assert [scalar.step for scalar in scalars] == steps
        assert [scalar.value for scalar in scalars] == pytest.approx(values, rel=1e-5)


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_missing_logger_says_what_to_install(name, tmp_path):
    cls = {"wandb": loggers.WeightsAndBiases, "mlflow": loggers.MLflow}[name]
    try:
        __import__(name)
    except ImportError:
        with refused("missing-package", name):
            cls(tmp_path, {})
    else:
        pytest.skip(f"{name} is installed")


def test_devices():
    assert devices.pick("cpu").type == "cpu"
    with refused("unknown-device"):
        devices.pick("tpu")
    if not torch.cuda.is_available():
        with refused("no-such-device"):
            devices.pick("cuda")


def test_a_weight_that_does_not_fit_is_named(text):
    engine = Job.of(tiny(text), CPU).engine()
    saved = engine.groups()["model"]
    for change, code in (
        ({"extra": torch.zeros(1)}, "unknown-tensor"),
        ({"embedding.weight": torch.zeros(2, 2)}, "wrong-tensor-shape"),
    ):
        with refused(code, *change):
            load_weights(engine.model, {**saved, **change}, "the file")
    saved.pop("embedding.weight")
    with refused("missing-tensor", "'embedding.weight'"):
        load_weights(engine.model, saved, "the file")


def test_no_validation_text_is_no_obstacle(text):
    run = train(text, "data.validation=0", "data.test=0")
    assert run.facts["status"] == "done"
    assert "validation" not in run.facts["outcome"]
    assert run.sample("The", tokens=3)
    assert replace(run.spec).training.steps == 12
    assert run_folder.find(run.name).report_file.exists()


def test_an_interrupt_that_a_library_swallows_is_raised_again():
    import os
    import signal

    from glasshouse.training.signals import insisting

    before = signal.getsignal(signal.SIGINT)
    went_on = False
    with pytest.raises(KeyboardInterrupt), insisting():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # somewhere here it is delivered
                pass
        except KeyboardInterrupt:
            pass
        went_on = True
    assert went_on
    assert signal.getsignal(signal.SIGINT) is before
    with insisting():
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_a_callback_swallows_while_the_loop_is_prepared_is_obeyed(text, monkeypatch):
    run = run_folder.create(tiny(text), "interrupted", "r")
    plain = Engine.__init__

    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def swallowing(self, *given):
        if given[0].training.learning_rate:  # not the plan's trial
            Dropped()
        plain(self, *given)

    monkeypatch.setattr(Engine, "__init__", swallowing)
    with pytest.raises(KeyboardInterrupt):
        loop.train(run, "cpu")
    assert not checkpoint.steps(run.checkpoints)


def test_an_optimiser_with_a_plain_rate_follows_the_schedule(text, monkeypatch):
    class Plain:
        @staticmethod
        def build(model, training):
            return torch.optim.SGD(model.parameters(), lr=training.learning_rate)

    job = Job.of(tiny(text), CPU)
    find = engine_module.catalogue.find
    monkeypatch.setattr(
        engine_module.catalogue, "find", lambda family, *word: Plain if family == "optimiser" else find(family, *word)
    )
    engine = job.engine()
    before = {name: tensor.clone() for name, tensor in engine.model.state_dict().items()}
    rates = [engine.step(step).learning_rates[0] for step in range(3)]
    assert engine.optimiser.param_groups[0]["lr"] == rates[-1] != rates[0]
    assert any(not torch.equal(tensor, before[name]) for name, tensor in engine.model.state_dict().items())
