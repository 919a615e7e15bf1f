"""Stages of training: the sizes of a warm-up, the number of steps of an epoch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.data import batch_stages
from glasshouse.data.batch_stages import Stage
from glasshouse.specs.spec import TrainingSpec


def stages(steps, **training):
    return list(batch_stages.stages_of(TrainingSpec(**training), steps))


def test_without_a_warmup_there_is_one_stage():
    assert stages(10, batch=6) == [Stage(0, 10, 6)]


def test_a_warmup_takes_a_quarter_and_then_a_half():
    assert stages(20, batch=8, batch_warmup=0.4) == [
        Stage(0, 4, 2),
        Stage(4, 4, 4, sequences_before=8),
        Stage(8, 12, 8, sequences_before=24),
    ]
    assert [(stage.first, stage.batch, stage.pieces) for stage in stages(20, batch=8, own={"window_warmup": 0.5})] == [
        (0, 8, 4),
        (5, 8, 2),
        (10, 8, 1),
    ]


def test_two_warmups_have_stages_together():
    found = stages(20, batch=8, batch_warmup=0.4, own={"window_warmup": 1.0})
    assert [(stage.first, stage.steps, stage.batch, stage.pieces) for stage in found] == [
        (0, 4, 2, 4),
        (4, 4, 4, 4),
        (8, 2, 8, 4),
        (10, 10, 8, 2),
    ]


@given(st.integers(1, 200), st.floats(0, 1), st.floats(0, 1))
def test_stages_cover_all_steps(steps, batch_warmup, window_warmup):
    training = TrainingSpec(batch=12, batch_warmup=batch_warmup, own={"window_warmup": window_warmup})
    found = batch_stages.stages_of(training, steps)
    assert sum(stage.steps for stage in found) == steps
    total = 0
    for step in range(steps):
        assert found.sequences_before(step) == total
        assert found.at(step).first <= step < found.at(step).first + found.at(step).steps
        total += found.at(step).batch
    assert found.sequences_before(steps) == total


@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("examples", [1, 7, 64, 999])
@pytest.mark.parametrize("epochs", [0.1, 1.0, 2.7])
def test_epochs_are_the_fewest_steps_that_hold_all_examples(warmup, examples, epochs):
    training = TrainingSpec(batch=8, epochs=epochs, batch_warmup=warmup)
    steps = batch_stages.steps_for(training, examples)
    assert batch_stages.stages_of(training, steps).sequences_before(steps) >= int(epochs * examples)
    if steps > 1:
        fewer = batch_stages.stages_of(training, steps - 1)
        assert fewer.sequences_before(steps - 1) < epochs * examples
