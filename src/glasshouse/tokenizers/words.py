"""Whole words as tokens; knows nothing of bytes or of parts of words."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, Progress, Tokenizer, encoded
from glasshouse.tokenizers.document import UnsupportedTokenizer
from glasshouse.tokenizers.unicode_classes import WHITESPACE, WORD, members
from glasshouse.tokenizers.word_level import (
    marks_for,
    most_frequent,
    ordinary_texts,
    read_word_level,
    word_level_document,
)

MOST_WORDS: Final = 1 << 23
"""While counting, the rarest of more different words than this are dropped, down to half."""


@functools.cache
def word_pattern() -> re.Pattern[str]:
    r"""`\w+|[^\w\s]+` with the classes shipped here: Python's own `\w` has no marks, and changes with its version."""
    return re.compile(f"[{members(WORD)}]+|[^{members(WORD)}{members(WHITESPACE)}]+")


@final
class Words(Tokenizer):
    """A token is a run of word characters, or a run of signs that are neither; whitespace only divides.

    Ids: `<unk>`, the other special tokens, then words from the most frequent on. Text is not kept exactly: words beyond
    the vocabulary become `<unk>`, and `decode` puts one space between any two tokens (as the `tokenizers` package
    does), so that decoded text encodes to the same ids again. `token_bytes` begins with that space.
    """

    name: ClassVar[str] = "words"
    lossless: bool = False

    def __init__(self, texts: Sequence[str], specials: Mapping[str, int], unknown: str = UNKNOWN) -> None:
        super().__init__([text.encode() if text in specials else b" " + text.encode() for text in texts], specials)
        self._texts = list(texts)
        self._ids = {text: id for id, text in enumerate(texts) if text not in specials}
        self._unknown_text = unknown
        self._unknown = self._texts.index(unknown)

    @property
    def unknown(self) -> int | None:
        return self._unknown

    def _encode_ordinary(self, text: str) -> np.ndarray:
        encoded(text, "utf-8")
        ids, unknown = self._ids, self._unknown
        return np.array([ids.get(word, unknown) for word in word_pattern().findall(text)], np.int32)

    def decode(self, ids: Iterable[int]) -> str:
        """The tokens with one space between any two."""
        return b" ".join(token.removeprefix(b" ") for token in self._spelled(ids)).decode()

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
        """Take the most frequent words. `vocabulary` is an upper bound: a text may have fewer different words.

        `pattern` and `processes` are for byte pairs and have no effect here.
        """
        marks = marks_for(specials, vocabulary)
        counts: Counter[str] = Counter()
        for text in ordinary_texts(chunks, marks, instead=" "):
            counts.update(word_pattern().findall(text))
            if len(counts) > MOST_WORDS:
                counts = Counter(dict(counts.most_common(MOST_WORDS // 2)))
            if progress:
                progress(f"counting: {len(counts)} different words", 0.0)
        for mark in marks:
            counts.pop(mark, None)
        texts = [*marks, *most_frequent(counts, vocabulary - len(marks))]
        return cls(texts, {mark: id for id, mark in enumerate(marks)})

    def _document(self) -> dict[str, Any]:
        return word_level_document(self._texts, self.specials, self._unknown_text, {"type": "Whitespace"}, None)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        if document.get("decoder") is not None:
            raise UnsupportedTokenizer(f"decoder {document['decoder'].get('type')!r} is not supported with Whitespace")
        return cls(*read_word_level(document))
