"""Merging one piece with a heap gives the ids of the definition."""

import numpy as np
import pytest
from hypothesis import given, strategies

from glasshouse.tokenizers.byte_pair_encoder import WORK_WORDS, build_merge_table, merge_piece
from tests.properties import examples
from tests.tokenizers.reference_byte_pair import encode

BYTE_IDS = np.arange(256, dtype=np.int32)

pair_lists = strategies.lists(strategies.tuples(strategies.integers(97, 103), strategies.integers(97, 103)), max_size=12)


def make_merges(pairs):
    """Merges in which later ones may use earlier ones: the ids 97 to 100 are letters, higher ids are merged."""
    merged, merges = 100, []
    for left, right in dict.fromkeys(pairs):
        if max(left, right) <= merged:
            merged += 1
            merges.append((left, right, merged))
    return merges


@examples(300)
@given(pairs=pair_lists, part=strategies.text("abcd", min_size=1, max_size=9), repeats=strategies.integers(1, 60))
def test_pieces_of_any_length(pairs, part, repeats):
    merges, piece = make_merges(pairs), part.encode() * repeats
    work = np.empty(WORK_WORDS * len(piece), np.uint64)
    count = merge_piece(piece, 0, len(piece), BYTE_IDS, build_merge_table(merges), work)
    assert work[:count].tolist() == encode(piece, merges)


def test_a_byte_without_an_id_is_skipped():
    byte_ids = BYTE_IDS.copy()
    byte_ids[ord("x")] = -1
    work = np.empty(WORK_WORDS * 3, np.uint64)
    count = merge_piece(b"axb", 0, 3, byte_ids, build_merge_table([(97, 98, 300)]), work)
    assert work[:count].tolist() == [300]


@pytest.mark.parametrize("merges", [[], [(1, 2, 3)]])
def test_small_tables(merges):
    assert len(build_merge_table(merges)) >= 8
