"""Single characters as tokens; knows nothing of words or bytes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, Progress, Tokenizer, encoded
from glasshouse.tokenizers.document import UnsupportedTokenizer
from glasshouse.tokenizers.unicode_classes import CODE_POINTS
from glasshouse.tokenizers.word_level import (
    marks_for,
    most_frequent,
    ordinary_texts,
    read_word_level,
    word_level_document,
)

_SPLIT: Final = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
_DECODER: Final = {"type": "Fuse"}


@final
class Characters(Tokenizer):
    """A token is one code point. One that the vocabulary lacks becomes `<unk>`, so decoding may not give the text back.

    Ids: `<unk>`, the other special tokens, then characters from the most frequent on.
    """

    name: ClassVar[str] = "characters"
    lossless: bool = False

    def __init__(self, texts: Sequence[str], specials: Mapping[str, int], unknown: str = UNKNOWN) -> None:
        super().__init__([text.encode() for text in texts], specials)
        self._texts = list(texts)
        self._unknown_text = unknown
        self._unknown = self._texts.index(unknown)
        self._id_of_code_point = np.full(CODE_POINTS, self._unknown, np.int32)
        for id, text in enumerate(texts):
            if len(text) == 1 and text not in specials:
                self._id_of_code_point[ord(text)] = id

    @property
    def unknown(self) -> int | None:
        return self._unknown

    def _encode_ordinary(self, text: str) -> np.ndarray:
        return self._id_of_code_point[code_points(text)]

    @classmethod
    def train(
        cls,
        chunks: Iterable[str],
        vocabulary: int,
        *,
        pattern: str = "gpt-2",
        specials: Sequence[str] = (END_OF_TEXT,),
        processes: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Take the most frequent characters. `vocabulary` is an upper bound: a text may have fewer different ones.

        `pattern` and `processes` are for byte pairs and have no effect here.
        """
        marks = marks_for(specials, vocabulary)
        counts = np.zeros(CODE_POINTS, np.int64)
        for text in ordinary_texts(chunks, marks, instead=""):
            found = np.bincount(code_points(text))
            counts[: len(found)] += found
            if progress:
                progress(f"counting: {counts.sum() / 1e6:.0f} M characters", 0.0)
        seen = {chr(point): int(counts[point]) for point in np.flatnonzero(counts)}
        for mark in marks:
            seen.pop(mark, None)
        texts = [*marks, *most_frequent(seen, vocabulary - len(marks))]
        return cls(texts, {mark: id for id, mark in enumerate(marks)})

    def _document(self) -> dict[str, Any]:
        return word_level_document(self._texts, self.specials, self._unknown_text, _SPLIT, _DECODER)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        if document["pre_tokenizer"] != _SPLIT or document.get("decoder") != _DECODER:
            raise UnsupportedTokenizer(
                f"a Split by {document['pre_tokenizer'].get('pattern')} with decoder {document.get('decoder')} is not "
                "the split into single characters that is written here",
            )
        return cls(*read_word_level(document))


def code_points(text: str) -> np.ndarray:
    """The code points of a text."""
    return np.frombuffer(encoded(text, "utf-32-le"), np.uint32)
