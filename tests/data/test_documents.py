"""Generated sources: the same documents at every reading, splits that share nothing, and fixed digests."""

from itertools import islice

import pytest

from glasshouse.data.documents import SPLITS
from tests.data.sources.source_access import GENERATED, make_source

# Every picture is drawn twice.
SLOW = ("scene-pairs", "scenes", "scenes-unseen")
DIGESTS = {
    "arithmetic-text": "c649b7ca",
    "calculations": "3e3ae5a5",
    "pig-latin": "d4a95676",
    "pig-latin-small": "75737603",
    "pig-latin-phrases-1": "9c30ae62",
    "pig-latin-phrases-2": "7e90dcfc",
    "pig-latin-phrases-4": "887c5d76",
    "pig-latin-phrases-8": "66c86127",
    "recall": "4513e2b3",
    "verbal-arithmetic": "542b1d3f",
    "word-count": "3adf5ca1",
    "word-order": "8fbf780c",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in GENERATED],
)
def test_generated_sources_are_the_same_at_every_reading_and_share_nothing(name):
    one, two = make_source(name), make_source(name)
    assert one.fingerprint() == two.fingerprint() != ""
    contents = [[(document.text, document.fields) for document in one.documents(split)] for split in SPLITS]
    for split, documents in zip(SPLITS, contents, strict=True):
        again = [(document.text, document.fields) for document in islice(two.documents(split), 2000)]
        assert again == documents[:2000]
    train, validation, test = ({text for text, _ in documents} for documents in contents)
    assert not train & (validation | test)
    assert not validation & test
    expected_fields = set(one.columns) - {"picture"}
    assert all(expected_fields <= fields.keys() for documents in contents for _, fields in documents)


def test_generated_sources_have_their_digests():
    """The digests change only on purpose, since runs are compared across machines and years."""
    digests = {name: make_source(name).fingerprint()[:8] for name in DIGESTS}
    assert digests == DIGESTS
