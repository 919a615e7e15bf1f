"""Combinations of fields that are refused before any work starts."""

import pytest

from glasshouse.specs import recipes, spec_files
from glasshouse.specs.errors import GlasshouseError, SpecError
from tests.refusals import refused
from tests.specs.example_spec import BASE


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("model.heads=3", (SpecError, "model.width=128", "1, 2, 4, 8")),
        ("training.gradient_accumulation=3", (SpecError, "training.batch")),
        ("evaluation.stride=1000", (SpecError, "data.context")),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(change, refusal):
    with refused(*refusal):
        spec_files.override(BASE, [change])


@pytest.mark.parametrize(
    ("tables", "kind"),
    [
        ({"training": {"steps": 5, "epochs": 2.0}}, SpecError),
        ({"training": {"steps": 0}}, SpecError),
        ({"data": {"source": "state-of-the-union", "files": ["a"]}}, SpecError),
        ({"data": {"source": ""}}, GlasshouseError),
    ],
)
def test_the_data_and_the_length_of_training_are_set_exactly_once(tables, kind):
    base = spec_files.tables_from_toml(spec_files.to_toml(BASE), "a test")
    with refused(kind):
        spec_files.checked(spec_files.unchecked(base, tables))


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        (("training.batch_warmup=0.3", "training.batch=6"), (SpecError, "training.batch=6", "multiple of 4")),
        (
            ("training.batch_warmup=0.3", "training.batch=8", "training.processes=2", "training.gradient_accumulation=2"),
            (SpecError, "multiple of 16"),
        ),
        (("training.window_warmup=0.3", "data.context=30"), (SpecError, "data.context=30")),
    ],
)
def test_a_warmup_begins_with_a_whole_quarter(changes, refusal):
    with refused(*refusal):
        recipes.spec("demo-lm", changes)


def test_batches_that_grow_are_not_grouped_by_length():
    with refused(SpecError, "training.batch_warmup=0.3"):
        changes = ["data.files=x.tsv", "training.batch_warmup=0.3", "training.group_by_length=true"]
        recipes.spec("classifier", changes)


def test_lora_and_gradual_unfreezing_exclude_each_other():
    with refused(SpecError, "training.lora_rank=2"):
        recipes.spec("demo-lm", ["training.lora_rank=2", "training.freeze=gradual"])


@pytest.mark.parametrize(
    "change", ["evaluation.stride=8", "evaluation.tokens=100", "training.label_smoothing=0.1", "training.window_warmup=0.5"]
)
def test_a_field_that_the_task_does_not_read_is_refused(change):
    with refused(SpecError, "task='classify'"):
        recipes.spec("classifier", ["data.files=x.tsv", change])
