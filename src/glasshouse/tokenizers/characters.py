"""The character tokenizer: every token is one character. Knows nothing of words or bytes."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from glasshouse.tokenizers.base import UNKNOWN, encode_unicode
from glasshouse.tokenizers.tokenizer_json import split_by
from glasshouse.tokenizers.unicode_classes import CODE_POINTS
from glasshouse.tokenizers.words import WordLevel


@final
class Characters(WordLevel):
    """A token is one code point. Characters outside the vocabulary become `<unk>`, so decoding may not restore the text."""

    name: ClassVar[str] = "characters"
    space: ClassVar[str] = ""
    separator: ClassVar[str] = ""
    pre_tokenizer: ClassVar[Mapping[str, Any]] = split_by(r"[\s\S]")
    decoder: ClassVar[Mapping[str, Any] | None] = {"type": "Fuse"}

    def __init__(self, texts: Sequence[str], specials: Mapping[str, int], unknown: str = UNKNOWN) -> None:
        super().__init__(texts, specials, unknown)
        self._id_of_code_point = np.full(CODE_POINTS, self._unknown, np.int32)
        for text, id in self._ids.items():
            if len(text) == 1:
                self._id_of_code_point[ord(text)] = id

    @staticmethod
    def split(text: str) -> list[str]:
        return list(text)

    @classmethod
    def count(cls, text: str) -> Mapping[str, int]:
        counts = np.bincount(code_points(text))
        return {chr(point): int(counts[point]) for point in np.flatnonzero(counts)}

    def _encode_ordinary(self, text: str) -> np.ndarray:
        return self._id_of_code_point[code_points(text)]


def code_points(text: str) -> np.ndarray:
    """The code points of a text."""
    return np.frombuffer(encode_unicode(text, "utf-32-le"), np.uint32)
