"""Presidents: paragraphs are held out by whole addresses."""

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.presidents import Presidents
from tests.data.sources.source_access import texts


def test_paragraphs_are_held_out_by_address():
    train, validation, test = (set(texts(Presidents(), split)) for split in SPLITS)
    assert len(train) > 3000
    assert len(train & (validation | test)) < 20, "only a few phrases are repeated every year"
