"""Sizes that follow from several fields, in exact integers."""

import glasshouse
from glasshouse.specs import spec_sizes


def test_parameters_are_those_of_the_usual_parts():
    words = ["model.width=64", "model.heads=4", "model.layers=3", "model.feed_forward=128", "data.vocabulary=1000"]
    spec = glasshouse.spec_of("demo-lm", *words)
    assert spec_sizes.parameters(spec) == 3 * (4 * 64 * 64 + 2 * 64 * 128) + 1000 * 64


def test_a_model_of_a_trillion_parameters_is_within_the_bounds():
    words = ["model.width=25600", "model.heads=128", "model.layers=128", "data.vocabulary=200000", "model.feed_forward=0"]
    assert spec_sizes.parameters(glasshouse.spec_of("demo-lm", *words)) > 10**12
