"""Altered captions: each changed fact lowers the adequacy, and the wording is kept or changed as promised."""

from random import Random

import numpy as np
import pytest

from glasshouse.data.sources.scenes import alterations, parser
from glasshouse.data.sources.scenes.translations import GermanScenes, ScenesGerman

CHANGES = 4


@pytest.mark.slow
@pytest.mark.parametrize(("source", "language"), [(GermanScenes, "english"), (ScenesGerman, "german")])
def test_altered_captions_lose_as_much_as_was_changed(source, language):
    adequacies: dict = {}
    for number, document in enumerate(source().documents("validation")):
        caption, changes = document.fields["target"], number % CHANGES
        altered = alterations.altered_captions(caption, language, changes, Random(number))
        for kind, text in altered.items():
            assert alterations.parse_caption(text, language), text
            adequacies.setdefault((kind, changes), []).append(parser.adequacy(parser.parse(caption), text))
        if not changes:
            assert altered["swapped"] == caption
        else:
            # A word is replaced in its position; the longest replacement is "to the left of" for "over".
            assert abs(len(altered["swapped"].split()) - len(caption.split())) <= 3
    assert set(adequacies["swapped", 0]) == set(adequacies["reworded", 0]) == {1.0}
    means = [np.mean(adequacies["swapped", changes]) for changes in range(CHANGES)]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.6
    assert adequacies["swapped", 1] == adequacies["reworded", 1]
    assert alterations.altered_captions("no caption at all", language, 1, Random(0)) == {}
    assert alterations.altered_captions("two circles two", language, 1, Random(0)) == {}
