"""The list of data sets: availability, and excerpts with labels and targets."""

import re

import pytest

from glasshouse.data.sources import data_set_list
from glasshouse.data.sources.pig_latin import translate
from glasshouse.specs.errors import DataError
from tests.data.sources.source_access import GENERATED
from tests.refusals import refused


@pytest.mark.parametrize("name", sorted({*GENERATED, "presidents"}))
def test_a_data_set_without_files_is_available_and_cannot_be_fetched(name):
    generated = name in GENERATED
    assert data_set_list.find_data_set(name).availability == ("generated" if generated else "ships with Glasshouse")
    with refused(DataError):
        data_set_list.fetch(name, print)


def test_an_excerpt_shows_labels_and_targets():
    names = ("pig-latin", "verbal-arithmetic", "recall")
    excerpts = {name: data_set_list.describe_splits(name)[0].excerpt for name in names}
    for line in excerpts["pig-latin"].splitlines():
        word, translation = line.split(" → ")
        assert translate(word) == translation
    assert excerpts["verbal-arithmetic"].split(":")[0] in ("negative", "zero", "positive")
    assert all(re.fullmatch(r"[a-z]+: .+ … .+ \?", line) for line in excerpts["recall"].splitlines())
    arithmetic_text = data_set_list.describe_splits("arithmetic-text")[0].excerpt
    assert len(arithmetic_text.splitlines()) == data_set_list.EXCERPT_ROWS
    assert len(data_set_list.describe_splits("state-of-the-union")[0].excerpt) == data_set_list.EXCERPT_CHARACTERS
