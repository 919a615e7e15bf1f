"""The steps of `glasshouse demo` with a very small model."""

import glasshouse

from .program import (
    SMALL,
    TWO_STEPS,
)


def test_what_the_demo_does() -> None:
    evaluation = ("data.context=128", "evaluation.tokens=500", "evaluation.stride=128", "evaluation.batch=128")
    run = glasshouse.train("demo-lm", *SMALL, *TWO_STEPS, *evaluation, device="cpu")
    assert run.facts["status"] == "done"
    assert run.facts["recipe"] == "demo-lm"
    assert run.folder.report_file.exists()
    assert str(run.sample("The state of", tokens=5)[0]).startswith("The state of")
