"""Translations of captions in both directions."""

from glasshouse.data.sources.scenes import translations
from glasshouse.data.sources.scenes.parser import parse
from glasshouse.data.sources.scenes.translations import GermanScenes, ScenesGerman


def test_translations_have_the_same_meaning(small_sources):
    for document in translations.ScenesGerman().documents("test"):
        assert parse(document.fields["target"]) == parse(document.text)


def test_pairs_are_swapped(small_sources):
    forward, back = (list(source.documents("test")) for source in (ScenesGerman(), GermanScenes()))
    assert [(d.text, d.fields["target"]) for d in forward] == [(d.fields["target"], d.text) for d in back]
    assert ScenesGerman().fingerprint() != GermanScenes().fingerprint()
