"""Counts of pieces do not depend on chunks or threads, and their memory is bounded."""

from collections import Counter

import pytest
from hypothesis import given, strategies

from glasshouse.tokenizers import piece_counts
from glasshouse.tokenizers.piece_counts import PieceCounts, count_stream
from glasshouse.tokenizers.piece_patterns import PATTERNS
from tests.properties import examples
from tests.tokenizers.difficult_texts import END_OF_TEXT, PROSE, texts
from tests.tokenizers.piece_splitting import split


def as_dict(counts):
    pieces, ends, frequencies = counts.to_arrays()
    starts, ends = [0, *ends.tolist()], ends.tolist()
    return {pieces[first:last]: count for first, last, count in zip(starts, ends, frequencies.tolist(), strict=False)}


@pytest.mark.parametrize("pattern", PATTERNS)
@examples(100)
@given(
    text=texts,
    boundaries=strategies.lists(strategies.integers(0, 200)),
    threads=strategies.integers(1, 3),
    size=strategies.integers(1, 50),
)
def test_counts_every_piece(pattern, text, boundaries, threads, size):
    positions = [0, *sorted(boundary for boundary in boundaries if boundary < len(text)), len(text)]
    chunks = [text[first:last] for first, last in zip(positions, positions[1:], strict=False)]
    counts = count_stream(chunks, pattern, [END_OF_TEXT], threads, size=size)
    expected = Counter(piece.encode() for part in text.split(END_OF_TEXT) for piece in split(part, pattern))
    assert as_dict(counts) == expected


def test_many_and_long_pieces():
    words = [f"word{number}" for number in range(30_000)] + ["y" * 100_000, "z" * 70]
    counts = PieceCounts("gpt-4")
    counts.add_text("\n".join(words))
    counts.add_text("\n".join(words))
    count_of_piece = as_dict(counts)
    assert count_of_piece[b"y" * 100_000] == count_of_piece[b"z" * 70] == 2
    assert sum(len(piece) * count for piece, count in count_of_piece.items()) == 2 * len("\n".join(words))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_rarest_are_dropped(threads, monkeypatch):
    monkeypatch.setattr(piece_counts, "COMBINE_EVERY", 4)
    text = "".join(f" often rare{letter}{other}" for letter in "abcdefghij" for other in "abcdefghij")
    counts = as_dict(count_stream([text], "gpt-2", [], threads, max_pieces=10, size=40))
    assert len(counts) < 10 + 4 * 40
    assert counts[b" often"] == 100
    assert counts == as_dict(count_stream([text[:300], text[300:]], "gpt-2", [], 1, max_pieces=10, size=40))


def test_progress_is_reported():
    reports: list = []
    count_stream([PROSE], "gpt-2", [], 1, reports.append, size=100)
    assert reports == sorted(reports)
    assert reports[-1] == len(PROSE)
