"""Spec files: specs are written and read back, overridden by text, and refused with the rule and the remedy."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.specs import catalogue, declared, recipes, spec_fields, spec_files
from glasshouse.specs.errors import GlasshouseError, SpecError
from glasshouse.specs.spec import SECTIONS
from tests.refusals import refused
from tests.specs.example_spec import BASE


def values(kind, rule):
    """Any valid value of a field."""
    if rule.choices:
        return st.sampled_from(rule.choices)
    if rule.family and kind is str:
        return st.sampled_from(catalogue.names(rule.family))
    if kind is bool:
        return st.booleans()
    if kind is int:
        maximum = 2**31 - 1 if rule.maximum is None else int(rule.maximum)
        return st.integers(int(rule.minimum or 0), maximum)
    if kind is float:
        return st.floats(rule.minimum or 0, rule.maximum or 1e9)
    if kind is str:
        return st.text(st.characters(exclude_categories=["Cs"]))
    if rule.family:
        return st.lists(st.sampled_from(catalogue.names(rule.family)), max_size=2).map(tuple)
    return st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3).map(tuple)


@st.composite
def specs(draw):
    """A spec with a random value in every field, including the fields that its parts declare."""
    spec = BASE
    for section, cls in SECTIONS.items():
        fields = {name: draw(values(kind, rule)) for name, (kind, rule, _) in spec_fields.fields(cls).items()}
        spec = declared.with_section(spec, section, replace(declared.section(spec, section), **fields))
    for section in declared.OPEN_SECTIONS:
        own = {name: draw(values(kind, rule)) for name, (kind, rule, _) in declared.own_fields(spec, section).items()}
        spec = declared.with_section(spec, section, replace(declared.section(spec, section), own=own))
    return declared.completed(spec)


# An example draws a value for every field of a spec, which takes a while.
@settings(max_examples=30)
@given(specs())
def test_toml_is_read_back_as_the_same_spec(spec):
    tables = spec_files.tables_from_toml(spec_files.to_toml(spec), "a test")
    assert declared.completed(spec_files.unchecked(tables)) == spec


def test_overrides_are_parsed_by_the_type_of_their_field():
    spec = spec_files.override(
        BASE, ["model.width=64", "training.learning_rate=1e-4", "model.tied=false", "data.context=1e2"]
    )
    assert (spec.model.width, spec.training.learning_rate, spec.model.tied, spec.data.context) == (64, 1e-4, False, 100)


@pytest.mark.parametrize(
    ("text", "files"), [("mine.txt", ("mine.txt",)), ("[a.txt,b.txt]", ("a.txt", "b.txt")), ("[ a , 'b' ]", ("a", "b"))]
)
def test_lists_are_written_in_brackets(text, files):
    spec = spec_files.override(BASE, [f"data.files={text}"])
    assert spec.data.files == files
    assert spec.data.source == "", "naming files resets the source"


def test_epochs_replace_steps():
    assert spec_files.override(BASE, ["training.epochs=2"]).training.steps == 0


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("model.widht=64", (GlasshouseError, "'model.width'")),
        ("width=64", (GlasshouseError, "'model.width'")),
        ("training.lr=1", (GlasshouseError, "'training.learning_rate'")),
        ("n_layer=1", (GlasshouseError, "'model.layers'")),
        ("modle.width=64", (GlasshouseError, "'model.width'")),
        ("training.steps=-1", (GlasshouseError, "0")),
        ("training.steps=1.5", (GlasshouseError,)),
        ("training.steps=many", (GlasshouseError, "many")),
        ("training.learning_rate=fast", (GlasshouseError, "fast")),
        ("training.learning_rate=nan", (SpecError,)),
        ("model.tied=maybe", (GlasshouseError, "maybe")),
        ("model.position=rotry", (GlasshouseError, "'rotary'")),
        ("training.schedule=cosin", (GlasshouseError, "'cosine'")),
        ("model.dropout=2", (GlasshouseError, "0.95")),
        ("model.width", (SpecError,)),
        ("task=fly", (GlasshouseError,)),
        ("training.loggers=[tensorbord]", (GlasshouseError, "'tensorboard'")),
    ],
)
def test_an_invalid_override_is_refused(change, refusal):
    with refused(*refusal):
        spec_files.override(BASE, [change])


@pytest.mark.parametrize(
    ("tables", "kind"),
    [
        ({"model": {"width": "wide"}}, GlasshouseError),
        ({"model": {"width": True}}, GlasshouseError),
        ({"model": 3}, SpecError),
        ({"data": {"files": [1, 2]}}, GlasshouseError),
    ],
)
def test_a_table_with_a_wrong_type_is_refused(tables, kind):
    with refused(kind):
        spec_files.checked(spec_files.unchecked(tables))


def test_a_setting_that_no_part_of_the_model_declares_is_refused():
    with refused(SpecError, "model.head.naive_bayes=1.0", "model.head.kind=classifier"):
        spec_files.model_spec(kind="encoder", head={"naive_bayes": 1.0})


def test_a_field_that_a_text_does_not_name_has_its_default():
    spec = recipes.spec("demo-lm", ["model.width=32"])
    text = spec_files.to_toml(spec)
    shorter = "\n".join(line for line in text.splitlines() if not line.startswith("cuda_graph"))
    assert shorter != text.rstrip("\n")
    assert spec_files.from_toml(shorter, "a file") == spec


def test_the_first_difference_of_two_specs_has_both_values():
    assert spec_files.difference(BASE, BASE) == ""
    assert (
        spec_files.difference(BASE, spec_files.override(BASE, ["model.bias=true"]))
        == "model.bias=false, not model.bias=true"
    )
    local = spec_files.override(BASE, ["model.attention=local-window"])
    assert spec_files.difference(BASE, local) == 'model.attention="dot-product", not model.attention="local-window"'


@pytest.mark.parametrize("format", [spec_files.FORMAT + 1, 0, '"2"'])
def test_a_file_of_another_format_is_refused_by_name(format):
    text = spec_files.to_toml(BASE).replace(f"format = {spec_files.FORMAT}", f"format = {format}")
    with refused(GlasshouseError, "mine.toml"):
        spec_files.from_toml(text, "mine.toml")


def test_names_of_other_programs_stand_for_fields():
    fields = {field for section in SECTIONS.values() for field in spec_fields.fields(section)}
    assert set(spec_files.KNOWN_ELSEWHERE.values()) <= fields
    assert not set(spec_files.KNOWN_ELSEWHERE) & fields


def test_every_alias_is_a_field_of_an_encoder_or_decoder() -> None:
    spec = recipes.spec("demo-lm")
    for field in spec_files.ALIASES.values():
        section, _, name = field.rpartition(".")
        assert name in declared.fields_of(spec, section), field


@pytest.mark.parametrize(
    ("word", "full"),
    [
        ("lr=1e-3", "training.learning_rate=1e-3"),
        ("n_layer = 2,4", "model.layers= 2,4"),
        ("lr", "training.learning_rate"),
        ("model.width=lr=3", "model.width=lr=3"),
        ("training.lr=1", "training.lr=1"),
        ("task=classify", "task=classify"),
    ],
)
def test_only_the_name_is_replaced(word: str, full: str) -> None:
    assert spec_files.with_full_name(word) == full
