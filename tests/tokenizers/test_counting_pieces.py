"""Counting does not depend on chunks or threads, and its memory is bounded."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies
from odd_texts import MARK, PROSE, texts
from test_splitting import split

from glasshouse.tokenizers import piece_counts
from glasshouse.tokenizers.piece_counts import PieceCounts, count_stream
from glasshouse.tokenizers.pretokenizer import PATTERNS


def as_dict(counts):
    pieces, ends, times = counts.result()
    starts = [0, *ends.tolist()]
    return {pieces[first:last]: count for first, last, count in zip(starts, ends.tolist(), times.tolist(), strict=False)}


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=100, deadline=None)
@given(
    text=texts,
    cuts=strategies.lists(strategies.integers(0, 200)),
    threads=strategies.integers(1, 3),
    size=strategies.integers(1, 50),
)
def test_counts_every_piece(pattern, text, cuts, threads, size):
    places = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    chunks = [text[first:last] for first, last in zip(places, places[1:], strict=False)]
    counts = count_stream(chunks, pattern, [MARK], threads, size=size)
    expected = Counter(piece.encode() for part in text.split(MARK) for piece in split(part, pattern))
    assert as_dict(counts) == expected


def test_many_and_long_pieces():
    words = [f"word{number}" for number in range(30_000)] + ["y" * 100_000, "z" * 70]
    counts = PieceCounts("gpt-4")
    counts.add_text("\n".join(words))
    counts.add_text("\n".join(words))
    found = as_dict(counts)
    assert found[b"y" * 100_000] == found[b"z" * 70] == 2
    assert sum(len(piece) * count for piece, count in found.items()) == 2 * len("\n".join(words))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_rarest_are_dropped(threads, monkeypatch):
    monkeypatch.setattr(piece_counts, "GATHER_EVERY", 4)
    text = "".join(f" often rare{letter}{other}" for letter in "abcdefghij" for other in "abcdefghij")
    counts = as_dict(count_stream([text], "gpt-2", [], threads, most=10, size=40))
    assert len(counts) < 10 + 4 * 40
    assert counts[b" often"] == 100
    assert counts == as_dict(count_stream([text[:300], text[300:]], "gpt-2", [], 1, most=10, size=40))


def test_progress_is_reported():
    heard = []
    count_stream([PROSE], "gpt-2", [], 1, heard.append, size=100)
    assert heard == sorted(heard)
    assert heard[-1] == len(PROSE)
