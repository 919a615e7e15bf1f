"""JSON schemas: every text of allowed tokens is JSON and valid, and unsupported keywords are refused by name."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.specs.errors import GlasshouseError
from tests import needs
from tests.refusals import refused

from .random_walks import accepts, random_text

jsonschema = needs.package("jsonschema")

NAMES = st.sampled_from(["a", "ab", "b", "name", "größe", 'quo"te', "back\\slash", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from([1.5, -2.25, "x", 'é\n"', "中🌱"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=3,
)


def bounded(least, most, strategy):
    """Two ordered bounds, each of which may be left out."""
    ends = st.tuples(strategy, strategy).map(sorted)
    return st.tuples(ends, st.sets(st.sampled_from([least, most]))).map(
        lambda chosen: {name: end for name, end in zip((least, most), chosen[0], strict=True) if name in chosen[1]}
    )


LEAVES = st.one_of(
    bounded("minLength", "maxLength", st.integers(0, 5)).map(lambda bounds: {"type": "string", **bounds}),
    st.sampled_from([r"^\d{4}-\d\d$", '^[^a]"?$', r"^a\\b\n$", "^(é|中)+$"]).map(
        lambda it: {"type": "string", "pattern": it}
    ),
    bounded("minimum", "maximum", st.integers(-2000, 2000)).map(lambda bounds: {"type": "integer", **bounds}),
    bounded("exclusiveMinimum", "maximum", st.integers(-5, 5)).map(
        lambda bounds: {"type": "integer", **bounds} if len(set(bounds.values())) == len(bounds) else {"type": "null"}
    ),
    bounded("minimum", "maximum", st.integers(-200, 200)).map(lambda bounds: {"type": "number", **bounds}),
    st.sampled_from([{}, True, {"type": "boolean"}, {"type": ["null", "integer"]}, {"type": "object"}, {"type": "array"}]),
    st.lists(VALUES, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    VALUES.map(lambda value: {"const": value}),
)


def larger(schemas):
    properties = st.dictionaries(NAMES, schemas, max_size=3)
    with_required = properties.flatmap(
        lambda chosen: st.tuples(
            st.just(chosen), st.sets(st.sampled_from(sorted(chosen)) if chosen else st.nothing()).map(sorted)
        )
    )
    return st.one_of(
        st.tuples(with_required, st.sampled_from([None, False, True]) | schemas).map(
            lambda parts: {
                "type": "object",
                "properties": parts[0][0],
                "required": parts[0][1],
                **({} if parts[1] is None else {"additionalProperties": parts[1]}),
            }
        ),
        schemas.map(lambda schema: {"type": "object", "additionalProperties": schema}),
        st.tuples(schemas, bounded("minItems", "maxItems", st.integers(0, 3))).map(
            lambda parts: {"type": "array", "items": parts[0], **parts[1]}
        ),
        st.lists(schemas, min_size=1, max_size=3).map(lambda inner: {"anyOf": inner}),
    )


SCHEMAS = st.recursive(LEAVES, larger, max_leaves=5)
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["value", "children"],
        }
    },
    "$ref": "#/$defs/node",
}


def texts_of(schema, tokenizer, count=3, free_tokens=12):
    constraint = TokenConstraint(tokenizer, json_schema=schema)
    texts = [random_text(constraint, tokenizer, random.Random(seed), free_tokens) for seed in range(count)]
    return [text for text in texts if text is not None]


@given(SCHEMAS)
@settings(max_examples=50)
def test_texts_of_allowed_tokens_are_valid(tokenizer, schema):
    for text in texts_of(schema, tokenizer):
        jsonschema.validate(json.loads(text), schema, jsonschema.Draft202012Validator)


@given(VALUES)
@settings(max_examples=20)
def test_any_json_and_a_constant_accept_a_value(tokenizer, value):
    for separators in ((",", ":"), (", ", ": ")):
        text = json.dumps(value, ensure_ascii=False, separators=separators)
        assert accepts(tokenizer, text, json_schema={})
        assert accepts(tokenizer, text, json_schema={"const": value})


@given(st.integers(-3000, 3000), st.tuples(st.integers(-2500, 2500), st.integers(-2500, 2500)).map(sorted))
@settings(max_examples=60)
def test_integers_within_bounds(tokenizer, value, bounds):
    schema = {"type": "integer", "minimum": bounds[0], "maximum": bounds[1]}
    within = bounds[0] <= value <= bounds[1]
    assert accepts(tokenizer, str(value), json_schema=schema) == within
    if value not in bounds:
        assert accepts(tokenizer, f"{value}.0", json_schema={**schema, "type": "number"}) == within
    assert not accepts(tokenizer, f"0{value}", json_schema=schema)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (
            {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}},
            ["{}", '{"b":null}', '{"a":null, "b": null}'],
            ['{"b":null,"a":null}', '{"c":1}', "1"],
        ),
        (
            {"type": "object", "properties": {"a": True}, "required": ["a"]},
            ['{"a":[1,{"b":2}]}'],
            ["{}", '{"a":1,}', '{"a" :1}', '{"a":  1}'],
        ),
        (
            {"type": "object", "properties": {"ab": {"type": "null"}}, "additionalProperties": True},
            ['{"ab":null,"abc":1,"a":2}', '{"":1}'],
            ['{"ab":1}', '{"x":1,"ab":1}', '{"\\u0061b":1}'],
        ),
        (
            {"type": "string", "minLength": 2, "maxLength": 2},
            ['"é中"', '"\\n🌱"'],
            ['"a"', '"abc"', '"\\ud800a"', '"\n\n"'],
        ),
        ({"type": "string", "pattern": '^a"?$'}, ['"a"', '"a\\""'], ['"ba"', '"a""']),
        ({"type": "string", "pattern": "a"}, ['"a"', '"bab"'], ['"b"']),
        ({"type": "string", "pattern": "^a*$", "maxLength": 2}, ['"a"', '""'], ['"aaa"']),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 1}, ["null", '"a"'], ['"ab"']),
        ({"allOf": [{"type": "integer"}, {"minimum": 5}]}, ["5"], ["4", '"a"']),
        ({"type": "string", "format": "date"}, ['"2026-01-31"'], ['"today"']),
        ({}, ["-2e+30", "[]", "null"], []),
        (
            {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2},
            ["[true]", "[true, false]"],
            ["[]", "[true,true,true]", "[1]"],
        ),
        ({"type": ["string", "null"], "maxLength": 1}, ["null", '"a"'], ['"ab"', "1"]),
        ({"enum": ["a", 1], "type": "string"}, ['"a"'], ["1"]),
        ({"oneOf": [{"const": 1}, {"type": "null"}]}, ["1", "null"], ["2"]),
        ({"allOf": [{"$ref": "#/definitions/x"}], "definitions": {"x": {"const": {"a": [1, 2]}}}}, ['{"a":[1, 2]}'], ["1"]),
        ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "0.25", "1", "1.000"], ["1.5", "-0.5", "-0", "2", "1e0"]),
        ({"type": "object"}, ["{}", '{"a": {"b": []}}'], ["[]", "1"]),
        (TREE, ['{"value":1,"children":[]}', '{"value":1,"children":[{"value":-2, "children": []}]}'], ['{"value":1}']),
    ],
)
def test_keywords(tokenizer, schema, valid, invalid):
    for text in valid:
        assert accepts(tokenizer, text, json_schema=schema), text
        jsonschema.validate(json.loads(text), schema, jsonschema.Draft202012Validator)
    assert [text for text in invalid if accepts(tokenizer, text, json_schema=schema)] == []


def test_recursion_goes_deep(tokenizer):
    depth = 300
    assert accepts(tokenizer, "[" * depth + "]" * depth, json_schema={})
    assert not accepts(tokenizer, "[" * depth + "]" * (depth - 1), json_schema={})
    texts = texts_of(TREE, tokenizer, count=5, free_tokens=60)
    assert texts
    for text in texts:
        jsonschema.validate(json.loads(text), TREE)


NESTED: dict[str, object] = {"type": "null"}
for _ in range(3000):
    NESTED = {"items": NESTED}


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"type": "array", "uniqueItems": True}, ["uniqueItems", "#"]),
        ({"properties": {"a": {"multipleOf": 3}}}, ["multipleOf", "#/properties/a"]),
        ({"anyOf": [{}, {"maxLenght": 3}]}, ["maxLenght", "#/anyOf/1"]),
        ({"items": {"$defs": {"a": {"if": True}}}}, ["if", "#/items/$defs/a"]),
        ({"type": "string", "format": "wild"}, ["format", "wild"]),
        ({"not": {}}, ["not"]),
        ({"x-guidance": {"lenient": True}}, ["x-guidance"]),
        ({"anyOf": []}, ["anyOf"]),
        ({"type": "text"}, ["text"]),
        ({"type": "integer", "minimum": "0"}, ["minimum", '"0"']),
        ({"type": "integer", "minimum": 10**19}, ["integer"]),
        ({"type": "array", "minItems": 3, "maxItems": 2}, ["maxItems", "minItems"]),
        ({"type": "string", "maxLength": -1}, ["maxLength", "-1"]),
        ({"type": "string", "pattern": "(?=a)"}, ["look-ahead"]),
        ({"type": "object", "properties": {}, "required": ["a"]}, ["a"]),
        ({"enum": []}, ["empty"]),
        ({"const": float("nan")}, ["float"]),
        ({"const": "\ud800"}, ["surrogate"]),
        ({"const": {1}}, ["set"]),
        ({"$ref": "http://example.com/schema"}, ["example.com"]),
        ({"$ref": "#/$defs/missing"}, ["missing"]),
        ({"$ref": "#"}, ["vocabulary"]),
        ({"type": "integer", "minimum": 2, "maximum": 1}, ["minimum", "maximum"]),
        (False, ["false"]),
        ("a", ["object"]),
        ({"items": 3}, ["object"]),
        (NESTED, ["nested"]),
    ],
)
def test_schemas_that_are_refused(tokenizer, schema, values):
    with refused(GlasshouseError, *values):
        TokenConstraint(tokenizer, json_schema=schema)


def test_a_large_schema_is_refused_or_used(tokenizer):
    names = [f"p{number}" for number in range(2200)]
    with refused(GlasshouseError, "1,000"):
        TokenConstraint(tokenizer, json_schema={"properties": {name: {} for name in names}, "required": names})
    long = {"properties": {"a" * 60_000: {}}, "additionalProperties": True}
    assert accepts(tokenizer, '{"b":1}', json_schema=long)


def test_an_endless_schema_is_cut_off_and_not_refused(tokenizer):
    endless = {"properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    state = TokenConstraint(tokenizer, json_schema=endless).start()
    for letter in '{"a":' * 50:
        state.advance(int(tokenizer.encode(letter)[0]))
    assert not state.finished
