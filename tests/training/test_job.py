"""The job: how many steps a number of epochs gives, and how long its sequences are."""

import math
from dataclasses import replace

import pytest

import glasshouse
from glasshouse.runs import resolve_spec
from glasshouse.training import cost_plan, job
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, DEMO, demo_spec


def test_epochs_are_converted_to_steps(text):
    run = glasshouse.train("demo-lm", *DEMO, f"data.files={text}", "training.epochs=1.5", device="cpu")
    prepared = Job.prepare(run.spec, CPU)
    examples = prepared.task.example_count(prepared.prepared.splits["train"])
    assert prepared.steps == math.ceil(1.5 * examples / 8)
    assert run.metrics[-1]["step"] == prepared.steps


def test_epochs_count_the_sequences_of_batches_that_grow(text):
    changes = ("training.steps=0", "training.epochs=1.5", "training.batch_warmup=0.5")
    growing = Job.prepare(demo_spec(text, *changes), CPU)
    examples = growing.task.example_count(growing.prepared.splits["train"])
    assert 0 <= growing.stages.sequences_before(growing.steps) - int(1.5 * examples) < growing.spec.training.batch


def test_the_mean_length_is_that_of_padded_batches():
    """Text is read in windows of the context. Words are padded to the longest of their batch."""
    windows = Job.prepare(resolve_spec.spec_of("demo-lm"), CPU)
    assert windows.mean_length() == windows.spec.data.context
    words = Job.prepare(resolve_spec.spec_of("piglatin-decoder-only", "model.width=8", "model.heads=1"), CPU)
    engine = words.engine("fp32")
    lengths = [engine.batch(step)["inputs"].shape[1] for step in range(job.LENGTH_BATCHES)]
    assert words.mean_length() == pytest.approx(sum(lengths) / len(lengths))
    assert words.mean_length() < words.spec.data.context / 2
    plan = cost_plan.make(replace(words, spec=replace(words.spec, training=replace(words.spec.training, precision="fp32"))))
    assert plan.tokens == pytest.approx(words.steps * 64 * words.mean_length(), rel=0.01)
