"""Specs: read, written, overridden and refused."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.specs import catalogue, declared, recipes, spec_fields, spec_files
from glasshouse.specs.spec import SECTIONS, DataSpec, Spec, TrainingSpec
from tests.refusals import refused

BASE = Spec(data=DataSpec(source="state-of-the-union"), training=TrainingSpec(steps=10))


def values(kind, rule):
    """Any legal value of a field."""
    if rule.choices:
        return st.sampled_from(rule.choices)
    if rule.family and kind is str:
        return st.sampled_from(catalogue.names(rule.family))
    if kind is bool:
        return st.booleans()
    if kind is int:
        top = 2**31 - 1 if rule.maximum is None else int(rule.maximum)
        return st.integers(int(rule.minimum or 0), top)
    if kind is float:
        return st.floats(rule.minimum or 0, rule.maximum or 1e9)
    if kind is str:
        return st.text(st.characters(exclude_categories=["Cs"]))
    if rule.family:
        return st.lists(st.sampled_from(catalogue.names(rule.family)), max_size=2).map(tuple)
    return st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3).map(tuple)


@st.composite
def specs(draw):
    spec = BASE
    for section, cls in SECTIONS.items():
        fields = {name: draw(values(kind, rule)) for name, (kind, rule, _) in spec_fields.fields(cls).items()}
        spec = declared.with_section(spec, section, replace(declared.section(spec, section), **fields))
    for section in declared.OPEN_SECTIONS:
        own = {name: draw(values(kind, rule)) for name, (kind, rule, _) in declared.own_fields(spec, section).items()}
        spec = declared.with_section(spec, section, replace(declared.section(spec, section), own=own))
    return declared.completed(spec)


@given(specs())
def test_toml_gives_back_the_same_spec(spec):
    tables = spec_files.tables_from_toml(spec_files.to_toml(spec), "a test")
    assert declared.completed(spec_files.unchecked(tables)) == spec


@pytest.mark.parametrize("name", recipes.every())
def test_every_recipe_is_a_spec(name):
    data = {} if "source" in recipes.tables_of(name)["data"] else {"files": ["mine.txt"]}
    spec = recipes.spec(name, data=data)
    assert spec_files.from_toml(spec_files.to_toml(spec), "spec.toml") == spec
    assert recipes.every()[name].about


def test_override_by_text():
    spec = spec_files.override(
        BASE, ["model.width=64", "training.learning_rate=1e-4", "model.tied=false", "data.context=1e2"]
    )
    assert (spec.model.width, spec.training.learning_rate, spec.model.tied, spec.data.context) == (64, 1e-4, False, 100)


@pytest.mark.parametrize(
    ("text", "files"), [("mine.txt", ("mine.txt",)), ("[a.txt,b.txt]", ("a.txt", "b.txt")), ("[ a , 'b' ]", ("a", "b"))]
)
def test_lists_stand_in_brackets(text, files):
    spec = spec_files.override(BASE, [f"data.files={text}"])
    assert spec.data.files == files
    assert spec.data.source == "", "naming files switches the source off"


def test_epochs_instead_of_steps():
    assert spec_files.override(BASE, ["training.epochs=2"]).training.steps == 0


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("model.widht=64", ("unknown-field", "'model.width'")),
        ("width=64", ("unknown-field", "'model.width'")),
        ("modle.width=64", ("unknown-field", "'model.width'")),
        ("model.heads=3", ("heads-divide-width", "model.width=128", "1, 2, 4, 8")),
        ("training.steps=-1", ("out-of-range", "0")),
        ("training.steps=1.5", ("wrong-type",)),
        ("training.steps=many", ("wrong-type", "many")),
        ("training.learning_rate=fast", ("wrong-type", "fast")),
        ("training.learning_rate=nan", ("not-finite",)),
        ("model.tied=maybe", ("wrong-type", "maybe")),
        ("model.position=rotry", ("unknown-word", "'rotary'")),
        ("training.schedule=cosin", ("unknown-word", "'cosine'")),
        ("training.gradient_accumulation=3", ("accumulation-divides-batch", "training.batch")),
        ("evaluation.stride=1000", ("stride-within-context", "data.context")),
        ("model.dropout=2", ("out-of-range", "0.95")),
        ("model.width", ("not-an-override",)),
        ("task=fly", ("unknown-word",)),
        ("training.loggers=[tensorbord]", ("unknown-word", "'tensorboard'")),
    ],
)
def test_refusals_say_the_rule_and_the_remedy(change, refusal):
    with refused(*refusal):
        spec_files.override(BASE, [change])


@pytest.mark.parametrize(
    ("tables", "code"),
    [
        ({"training": {"steps": 5, "epochs": 2.0}}, "steps-or-epochs"),
        ({"training": {"steps": 0}}, "steps-or-epochs"),
        ({"data": {"source": "state-of-the-union", "files": ["a"]}}, "source-and-files"),
        ({"data": {"source": ""}}, "no-data"),
        ({"model": {"width": "wide"}}, "wrong-type"),
        ({"model": {"width": True}}, "wrong-type"),
        ({"model": 3}, "section-not-field"),
        ({"data": {"files": [1, 2]}}, "wrong-type"),
    ],
)
def test_impossible_combinations(tables, code):
    with refused(code):
        spec_files.checked(spec_files.unchecked(reading_tables(BASE), tables))


def reading_tables(spec):
    return spec_files.tables_from_toml(spec_files.to_toml(spec), "a test")


def test_unknown_recipe_names_the_nearest():
    with refused("unknown-recipe", "'demo-lm'"):
        recipes.spec("demo-ml")


def test_text_of_an_older_version_is_read_with_the_fields_that_have_come_since():
    spec = recipes.spec("demo-lm", ["model.width=32"])
    text = spec_files.to_toml(spec)
    older = "\n".join(line for line in text.splitlines() if not line.startswith("cuda_graph"))
    assert older != text.rstrip("\n")
    assert spec_files.renewed(older) == text
    assert spec_files.renewed("task = 'fly'") == "task = 'fly'"


@pytest.mark.parametrize("change", ["evaluation.stride=8", "evaluation.tokens=100", "training.label_smoothing=0.1"])
def test_what_a_task_does_not_heed_is_refused(change):
    with refused("not-of-this-task", "task='classify'"):
        recipes.spec("classifier", ["data.files=x.tsv", change])
