"""The job: how many steps a number of epochs gives."""

import math

import glasshouse
from glasshouse.training.job import Job
from tests.training.small_runs import CPU, DEMO


def test_epochs_are_converted_to_steps(text):
    run = glasshouse.train("demo-lm", *DEMO, f"data.files={text}", "training.epochs=1.5", device="cpu")
    job = Job.prepare(run.spec, CPU)
    examples = job.task.example_count(job.prepared.splits["train"])
    assert job.steps == math.ceil(1.5 * examples / 8)
    assert run.metrics[-1]["step"] == job.steps
