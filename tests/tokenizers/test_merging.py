"""Merging one piece, short or long, gives what the definition gives."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies
from plain_byte_pairs import encode

from glasshouse.tokenizers.byte_pair_merging import SHORT, WORK, merge_long, merge_piece, merge_short, merge_table

BYTE_IDS = np.arange(256, dtype=np.int32)

merge_lists = strategies.lists(strategies.tuples(strategies.integers(97, 103), strategies.integers(97, 103)), max_size=12)


def chain(pairs):
    """Merges in which later ones may build on earlier ones: ids from 97 up to 100 are letters, above they are made."""
    made, merges = 100, []
    for left, right in dict.fromkeys(pairs):
        if max(left, right) <= made:
            made += 1
            merges.append((left, right, made))
    return merges


@settings(max_examples=300, deadline=None)
@given(pairs=merge_lists, piece=strategies.text("abcd", min_size=1, max_size=SHORT))
def test_short_and_long_ways_agree_with_the_definition(pairs, piece):
    merges = chain(pairs)
    table = merge_table(merges)
    expected = encode(piece.encode(), merges)
    for way in (merge_short, merge_long):
        work = np.empty(max(2 * SHORT, WORK * len(piece)), np.uint64)
        work[: len(piece)] = list(piece.encode())
        count = way(work, len(piece), table)
        assert work[:count].tolist() == expected


@settings(max_examples=30, deadline=None)
@given(pairs=merge_lists, part=strategies.text("abcd", min_size=1, max_size=9), times=strategies.integers(1, 60))
def test_pieces_of_any_length(pairs, part, times):
    merges, piece = chain(pairs), part.encode() * times
    work = np.empty(max(2 * SHORT, WORK * len(piece)), np.uint64)
    count = merge_piece(piece, 0, len(piece), BYTE_IDS, merge_table(merges), work)
    assert work[:count].tolist() == encode(piece, merges)


def test_a_byte_without_an_id_is_left_out():
    byte_ids = BYTE_IDS.copy()
    byte_ids[ord("x")] = -1
    work = np.empty(2 * SHORT, np.uint64)
    count = merge_piece(b"axb", 0, 3, byte_ids, merge_table([(97, 98, 300)]), work)
    assert work[:count].tolist() == [300]


@pytest.mark.parametrize("merges", [[], [(1, 2, 3)]])
def test_small_tables(merges):
    assert len(merge_table(merges)) >= 8
