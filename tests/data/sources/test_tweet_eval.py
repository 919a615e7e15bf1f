"""Tweets as plain text: every tweet is in exactly one split."""

from glasshouse.data.documents import SPLITS
from tests.data.sources.source_access import make_source, texts
from tests.needs import needs_data


@needs_data
def test_every_tweet_occurs_once_in_one_split():
    tweets = [text for split in SPLITS for text in texts(make_source("tweets"), split)]
    assert len(tweets) == len(set(tweets)) > 9000
