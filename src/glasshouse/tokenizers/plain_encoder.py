"""Byte-pair encoding in plain Python: the definition, and what encodes short texts. Knows nothing of special tokens.

The compiled encoder (`byte_pair_encoder`) gives the same ids. It is far faster, but importing its compiler takes a second. A
prompt is encoded here in a hundredth of that.
"""

from collections.abc import Sequence

import numpy as np

from glasshouse.tokenizers.piece_patterns import split


class PlainEncoder:
    """The merges of a vocabulary by rank, and the pieces encoded so far. Several threads may share it."""

    def __init__(self, byte_ids: np.ndarray, merges: Sequence[tuple[int, int, int]], pattern: str) -> None:
        self._byte_ids: list[int] = byte_ids.tolist()
        self._merges = {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(merges)}
        self._pattern = pattern
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> np.ndarray:
        """The ids of a text."""
        ids: list[int] = []
        for piece in split(text, self._pattern):
            if piece not in self._known:
                self._known[piece] = self._merge(piece.encode())
            ids += self._known[piece]
        return np.array(ids, np.int32)

    def _merge(self, piece: bytes) -> list[int]:
        """Merge the pair of lowest rank, leftmost first, until no known pair is left. Bytes without an id are dropped."""
        ids = [self._byte_ids[byte] for byte in piece if self._byte_ids[byte] >= 0]
        while True:
            pairs = enumerate(zip(ids, ids[1:], strict=False))
            candidates = [(*self._merges[pair], index) for index, pair in pairs if pair in self._merges]
            if not candidates:
                return ids
            _, merged, index = min(candidates)
            ids[index : index + 2] = [merged]
