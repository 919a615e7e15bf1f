"""The base class of tokenizers whose tokens are whole words. Does not know where a word ends: a subclass splits the text."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

import numpy as np

from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, Progress, Tokenizer, encode_unicode
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer
from glasshouse.tokenizers.word_level import (
    build_word_level,
    most_frequent,
    read_word_level,
    replace_special_tokens,
    reserve_special_tokens,
)

MAX_COUNTED_WORDS: Final = 1 << 23
"""If counting finds more distinct words than this, the rarest are dropped until half of this number is left."""


class WholeWords(Tokenizer):
    """Ids: `<unk>`, then the other special tokens, then the words by descending frequency.

    Decoding does not restore the text: words outside the vocabulary become `<unk>`, and `decode` puts one space between any
    two tokens, as the `tokenizers` package does. `token_bytes` starts with that space.
    """

    lossless: bool = False
    # The two parts of a tokenizer.json with which the `tokenizers` package splits a text into the same words.
    normalizer: ClassVar[Mapping[str, Any] | None] = None
    pre_tokenizer: ClassVar[Mapping[str, Any]]
    # What separates two texts in a stream. A special token in the text becomes this.
    separator: ClassVar[str] = " "

    def __init__(self, texts: Sequence[str], specials: Mapping[str, int], unknown: str = UNKNOWN) -> None:
        super().__init__([text.encode() if text in specials else b" " + text.encode() for text in texts], specials)
        self._texts = list(texts)
        self._ids = {text: id for id, text in enumerate(texts) if text not in specials}
        self._unknown_text = unknown
        self._unknown = self._texts.index(unknown)

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """The words of a text."""

    @property
    def unknown(self) -> int | None:
        return self._unknown

    def _encode_ordinary(self, text: str) -> np.ndarray:
        encode_unicode(text, "utf-8")  # raises an error for a lone surrogate
        ids, unknown = self._ids, self._unknown
        return np.array([ids.get(word, unknown) for word in self.split(text)], np.int32)

    def decode(self, ids: Iterable[int]) -> str:
        """The tokens with one space between any two."""
        return b" ".join(token.removeprefix(b" ") for token in self._tokens_of(ids)).decode()

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
        """Use the most frequent words. `vocabulary` is an upper bound, since a text may have fewer words.

        `pattern` and `processes` have no effect here; they are for byte-pair encoding.
        """
        special_tokens = reserve_special_tokens(specials, vocabulary)
        counts: Counter[str] = Counter()
        for text in replace_special_tokens(chunks, special_tokens, replacement=cls.separator):
            counts.update(cls.split(text))
            if len(counts) > MAX_COUNTED_WORDS:
                counts = Counter(dict(counts.most_common(MAX_COUNTED_WORDS // 2)))
            if progress:
                progress(f"counting: {len(counts)} different words", 0.0)
        for special in special_tokens:
            counts.pop(special, None)
        texts = [*special_tokens, *most_frequent(counts, vocabulary - len(special_tokens))]
        return cls(texts, {special: id for id, special in enumerate(special_tokens)})

    def _to_json(self) -> dict[str, Any]:
        contents = build_word_level(self._texts, self.specials, self._unknown_text, self.pre_tokenizer, None)
        return {**contents, "normalizer": self.normalizer}

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        for part, expected in (("normalizer", cls.normalizer), ("pre_tokenizer", cls.pre_tokenizer), ("decoder", None)):
            if (found := contents.get(part)) != expected:
                kind = found.get("type") if isinstance(found, dict) else found
                raise UnsupportedTokenizer(f"{part} {kind!r} is not supported with {cls.name}; only that of {cls.name} is")
        return cls(*read_word_level({**contents, "normalizer": None}))
