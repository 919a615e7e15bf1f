"""Speeches: the published sizes, and the share that is held out for validation."""

import pytest

from glasshouse.data import prepared_data
from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.speeches import Speeches, SpeechesText
from glasshouse.specs.spec import DataSpec
from tests.data.sources.source_access import split_sizes, texts
from tests.needs import needs_data


@needs_data
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_speeches_hold_out_the_requested_share(share):
    data = DataSpec(validation=share)
    segments, text = Speeches.from_spec(data), SpeechesText.from_spec(data)
    train, validation, test = split_sizes(segments)
    assert (train + validation, test) == (2092, 750)
    assert validation == pytest.approx(2092 * share, abs=10)
    length = [sum(map(len, texts(text, split))) for split in SPLITS]
    assert length[1] == pytest.approx(sum(length[:2]) * share, abs=300)
    assert [d.fields["speaker"] for d in text.documents("test")] == ["Obama", "W. Bush", "H. Bush"]
    assert all(len(d.text.split("\n")) == 250 for d in text.documents("test"))
    assert Speeches(0.2).fingerprint() != segments.fingerprint()
    assert SpeechesText(0.2).fingerprint() != text.fingerprint()


@needs_data
def test_only_the_test_split_shares_texts_with_the_training_split():
    assert sum(split_sizes(Speeches())[:2]) == 2092
    prepared = prepared_data.prepare(DataSpec(source="speeches", tokenizer="words", vocabulary=8192), columns=("label",))
    assert [leak.split for leak in prepared.leaks if leak.shared] == ["test"]
