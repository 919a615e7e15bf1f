"""Scored pieces become a tokenizer.json and come back; a tokenizer.json that scores cannot express is refused."""

from pathlib import Path

import pytest

from glasshouse.interop import llama2c
from glasshouse.interop.sentencepiece import ScoredPieces, from_tokenizer_json, to_tokenizer_json
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

from .llama2c_files import some_pieces, write_pieces


@pytest.fixture
def pieces(tmp_path: Path) -> ScoredPieces:
    write_pieces(tmp_path / "tok300.bin", some_pieces(300))
    return llama2c.read_pieces(tmp_path / "tok300.bin", 300)


def test_scores_and_back(pieces):
    """The restored scores have the same order, so the same pieces are merged first."""
    restored = from_tokenizer_json(to_tokenizer_json(pieces), ([1], []), 2)
    assert not isinstance(restored, str)
    assert restored.texts == pieces.texts
    assert restored.types == pieces.types
    assert (restored.bos_id, restored.eos_id, restored.adds_bos, restored.adds_space) == (1, 2, True, True)

    def order(scored):
        normal = [
            (score, text)
            for text, score, piece_type in zip(scored.texts, scored.scores, scored.types, strict=True)
            if piece_type == 1
        ]
        return [text for _, text in sorted(normal, reverse=True)]

    assert order(restored) == order(pieces)


def test_the_newer_way_to_write_a_leading_space(pieces):
    document = to_tokenizer_json(pieces)
    expected = from_tokenizer_json(document, ([], []), 2)
    document["normalizer"] = None
    document["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    assert from_tokenizer_json(document, ([], []), 2) == expected
    document["pre_tokenizer"]["split"] = True
    with refused(GlasshouseError):
        from_tokenizer_json(document, ([], []), 2)


def test_merges_that_scores_cannot_express(pieces):
    document = to_tokenizer_json(pieces)
    merges = document["model"]["merges"]
    document["model"]["merges"] = [pair for pair in merges if pair != ["he", "re"]]
    with refused(GlasshouseError):
        from_tokenizer_json(document, ([1], []), 2)
    document["model"]["merges"] = [*[pair for pair in merges if pair != ["▁", "the"]], ["▁", "the"]]
    with refused(GlasshouseError):
        from_tokenizer_json(document, ([1], []), 2)
    with refused(GlasshouseError):
        from_tokenizer_json(document, ([1], [2]), 2)
