"""Wild values of a spec are refused before anything is allocated."""

import pytest

import glasshouse
from glasshouse.specs import declared, spec_fields
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec import SECTIONS
from tests.cli.numeric_options import all_numbers
from tests.refusals import refused


@pytest.mark.parametrize("text", ["\udc80", "a\0b"])
def test_a_text_that_no_file_can_hold_is_refused(text):
    with refused(GlasshouseError, "data.label"):
        glasshouse.runs.spec_of("demo-lm", f"data.label={text}")


def test_a_number_that_python_cannot_read_is_refused():
    with refused(GlasshouseError):
        glasshouse.runs.spec_of("demo-lm", f"model.width={'9' * 5000}")


def test_weights_that_do_not_fit_are_refused_before_the_data_are_read(tmp_path):
    words = ["model.width=40960", "model.layers=1000", "model.heads=64", f"data.files={tmp_path / 'missing.txt'}"]
    with refused(SpecError, "model.layers=1000"):
        glasshouse.train("demo-lm", *words, device="cpu")


def test_every_whole_number_of_a_spec_has_a_maximum():
    for name, section in SECTIONS.items():
        rules = [*spec_fields.fields(section).items()]
        rules += [(field, own) for field, parts in declared.declarations(name).items() for _, own in parts]
        for field, (kind, rule, _) in rules:
            if kind is int:
                with refused(GlasshouseError, f"{name}.{field}"):
                    spec_fields.check(10**13, rule, f"{name}.{field}")


# Shares, settings of sampling and of verdicts: their functions refuse what is out of range, with the value and the remedy.
CHECKED_BY_FUNCTIONS = {
    *("temperature", "top_p", "min_p", "repetition_penalty"),
    *("margin", "alpha", "share", "weights", "validation", "test"),
}


def test_every_number_of_a_command_has_a_maximum():
    numbers = [option for option in all_numbers() if option.kind is int or option.name not in CHECKED_BY_FUNCTIONS]
    without = [f"{option.command} {option.name}" for option in numbers if option.maximum is None]
    assert len(all_numbers()) > 100
    assert without == []


@pytest.mark.parametrize("command", ["train", "plan"])
def test_far_more_threads_than_cores_are_refused(command):
    with refused(SpecError, "training.threads=1024"):
        getattr(glasshouse, command)("demo-lm", "training.threads=1024", device="cpu")
