"""The claim decoder-only-nmt: the sample sentence."""

from glasshouse.claims.translation import decoder_only_nmt
from glasshouse.data.sources import pig_latin


def test_correct_translations_of_the_sample_sentence_are_counted_over_seeds():
    right = pig_latin.translate(decoder_only_nmt.SENTENCE)
    assert right == "ethay airway onditioningcay isway orkingway"
    assert decoder_only_nmt.count_correct([right, "ethay"]) == f"right in 1 of 2 seeds; the first wrote: {right}"
    assert decoder_only_nmt.count_correct([]) == "not measured"
