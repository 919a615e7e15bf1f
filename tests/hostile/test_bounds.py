"""Wild values of a spec are refused before anything is allocated."""

import pytest

import glasshouse
from glasshouse.specs import spec_files
from tests.refusals import refused

WILD = [
    "model.width=1000000000",
    "model.layers=1000000",
    "model.heads=99999999",
    f"model.feed_forward={'9' * 400}",
    "data.vocabulary=1099511627776",
    "data.context=99999999999",
    "training.batch=1000000000000",
    "training.threads=1000000",
    "evaluation.beams=1000000",
    "evaluation.sample_tokens=1000000000",
    f"training.patience={10**400}",
    f"training.checkpoint_every={2**63}",
    "data.label=" + "a" * 70_000,
]


@pytest.mark.parametrize("change", WILD, ids=lambda change: change[:30])
def test_a_number_far_beyond_use_is_refused(change):
    with refused("out-of-range", change.partition("=")[0]):
        glasshouse.spec_of("demo-lm", change)


@pytest.mark.parametrize("text", ["\udc80", "a\0b"])
def test_a_text_that_no_file_can_hold_is_refused(text):
    with refused("wrong-type", "data.label"):
        glasshouse.spec_of("demo-lm", f"data.label={text}")


def test_a_number_that_python_cannot_read_is_refused():
    with refused("wrong-type"):
        glasshouse.spec_of("demo-lm", f"model.width={'9' * 5000}")


def test_a_whole_number_that_no_float_holds_is_refused():
    with refused("out-of-range", "training.learning_rate"):
        spec_files.from_tables({"training": {"learning_rate": 10**400}})
