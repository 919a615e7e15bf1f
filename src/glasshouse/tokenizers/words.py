"""The word tokenizer: every token is a whole word. Knows nothing of bytes or subwords."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, Progress, Tokenizer, encode_unicode
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer
from glasshouse.tokenizers.unicode_classes import WHITESPACE, WORD, members
from glasshouse.tokenizers.word_level import (
    build_word_level,
    most_frequent,
    read_word_level,
    replace_special_tokens,
    reserve_special_tokens,
)

MAX_COUNTED_WORDS: Final = 1 << 23
"""If counting finds more distinct words than this, the rarest are dropped until half of this number is left."""


@functools.cache
def word_pattern() -> re.Pattern[str]:
    r"""`\w+|[^\w\s]+` with our own character classes. Python's `\w` lacks combining marks and changes with its version."""
    return re.compile(f"[{members(WORD)}]+|[^{members(WORD)}{members(WHITESPACE)}]+")


@final
class Words(Tokenizer):
    """A token is a sequence of word characters, or a sequence of characters that are neither word characters nor whitespace.

    Ids: `<unk>`, then the other special tokens, then the words by descending frequency. Decoding does not restore the text:
    words outside the vocabulary become `<unk>`, and `decode` puts one space between any two tokens, as the `tokenizers`
    package does. Encoding the decoded text gives the same ids again. `token_bytes` starts with that space.
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
        encode_unicode(text, "utf-8")  # raises an error for a lone surrogate
        ids, unknown = self._ids, self._unknown
        return np.array([ids.get(word, unknown) for word in word_pattern().findall(text)], np.int32)

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
        for text in replace_special_tokens(chunks, special_tokens, replacement=" "):
            counts.update(word_pattern().findall(text))
            if len(counts) > MAX_COUNTED_WORDS:
                counts = Counter(dict(counts.most_common(MAX_COUNTED_WORDS // 2)))
            if progress:
                progress(f"counting: {len(counts)} different words", 0.0)
        for special in special_tokens:
            counts.pop(special, None)
        texts = [*special_tokens, *most_frequent(counts, vocabulary - len(special_tokens))]
        return cls(texts, {special: id for id, special in enumerate(special_tokens)})

    def _to_json(self) -> dict[str, Any]:
        return build_word_level(self._texts, self.specials, self._unknown_text, {"type": "Whitespace"}, None)

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        if contents.get("decoder") is not None:
            raise UnsupportedTokenizer(f"decoder {contents['decoder'].get('type')!r} is not supported with Whitespace")
        return cls(*read_word_level(contents))
