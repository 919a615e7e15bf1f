"""Translations of captions have the meaning of their originals."""

from glasshouse.data.sources.scenes import translations
from glasshouse.data.sources.scenes.parser import parse


def test_translations_have_the_same_meaning(small_sources):
    for document in translations.ScenesGerman().documents("test"):
        assert parse(document.fields["target"]) == parse(document.text)
