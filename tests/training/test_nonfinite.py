"""Steps that are not finite: the run fails, the cause is named, and the step can be repeated."""

import math

import glasshouse
from glasshouse.specs.errors import RunError
from glasshouse.training import nonfinite
from glasshouse.training.job import Job
from tests.refusals import refused
from tests.training.small_runs import CPU, demo_spec, train_demo


def test_a_loss_that_is_not_finite_fails_the_run_and_can_be_replayed(text):
    with refused(RunError) as error:
        train_demo(text, "training.learning_rate=1e25", "training.warmup=0", "training.clip=0", name="broken")
    run = glasshouse.open_run("broken")
    assert run.facts["status"] == "failed"
    replay = glasshouse.runs.replay("broken", device="cpu")
    first = next(output for output in replay.outputs if output.bad)
    assert f"{first.kind} of {first.module};" in str(error.value)
    assert not math.isfinite(replay.loss) or first.kind == "gradient"


def test_gradients_are_examined_in_the_order_of_the_backward_pass(text):
    engine = Job.prepare(demo_spec(text), CPU).engine()
    _, outputs = nonfinite.examine(engine, 0, engine.batch(0))
    order = [output.module for output in outputs if output.kind == "gradient"]
    assert order[0] == "final_norm.weight"
    last_block = [
        order.index(f"blocks.1.feed_forward{name}") for name in (".down.weight", ".up.weight", "_connection.norm.weight")
    ]
    assert last_block == sorted(last_block)
    assert order[-1] == "embedding.weight"


def test_a_run_that_did_not_fail_cannot_be_replayed(text):
    train_demo(text, name="fine")
    with refused(RunError):
        glasshouse.runs.replay("fine")
