"""The translation pairs in the other direction: each side of a pair takes the place of the other."""

from glasshouse.data.sources.scenes.translations import ScenesGerman
from glasshouse.data.sources.scenes.translations_back import GermanScenes


def test_pairs_are_swapped(small_sources):
    forward, back = (list(source.documents("test")) for source in (ScenesGerman(), GermanScenes()))
    assert [(d.text, d.fields["target"]) for d in forward] == [(d.fields["target"], d.text) for d in back]
    assert ScenesGerman().fingerprint() != GermanScenes().fingerprint()
