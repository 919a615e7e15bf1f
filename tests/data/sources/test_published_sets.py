"""The published data sets: their sizes, the names of their classes, and pairs that belong together."""

import pytest

from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.context_texts import VALUES
from tests.data.sources.source_access import make_source, split_sizes, texts
from tests.needs import needs_data

CLASS_COUNTS = {
    "verbal-arithmetic": 3,
    "course-arithmetic": 3,
    "recall": len(VALUES),
    "sick": 3,
    "sick-pairs": 3,
    "tweet-emotion": 4,
    "tweet-irony": 2,
    "speeches": 3,
    "course-speeches": 3,
}


@needs_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multi30k", (29000, 1014, 1000)),
        ("sick", (4439, 495, 4906)),
        ("sick-pairs", (4439, 495, 4906)),
        ("tweet-emotion", (3257, 374, 1421)),
        ("tweet-irony", (2862, 955, 784)),
    ],
)
def test_published_sets_have_their_published_sizes(name, expected):
    assert split_sizes(make_source(name)) == expected


@needs_data
@pytest.mark.parametrize("name", sorted(CLASS_COUNTS))
def test_labels_are_names(name):
    source = make_source(name)
    labels = {document.fields["label"] for split in SPLITS for document in source.documents(split)}
    assert len(labels) == CLASS_COUNTS[name]
    assert not any(label.isdigit() for label in labels)


@needs_data
def test_the_sides_of_a_pair_belong_together():
    first = next(make_source("sick").documents("train"))
    assert [line[:16] for line in first.text.split("\n")] == ["A group of kids ", "A group of boys "]
    assert first.fields["label"] == "neutral"
    pair = next(make_source("sick-pairs").documents("train"))
    assert f"{pair.text}\n{pair.fields['second']}" == first.text
    assert (pair.fields["label"], pair.fields["value"]) == ("neutral", "4.5")
    first = next(make_source("multi30k").documents("test"))
    assert (first.text[:6], first.fields["target"][:8]) == ("A man ", "Ein Mann")


@needs_data
def test_every_tweet_occurs_once_in_one_split():
    tweets = [text for split in SPLITS for text in texts(make_source("tweets"), split)]
    assert len(tweets) == len(set(tweets)) > 9000
