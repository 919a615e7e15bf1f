"""The character tokenizer: every token is one character. Knows nothing of words or bytes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, Progress, Tokenizer, encode_unicode
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer
from glasshouse.tokenizers.unicode_classes import CODE_POINTS
from glasshouse.tokenizers.word_level import (
    build_word_level,
    most_frequent,
    read_word_level,
    replace_special_tokens,
    reserve_special_tokens,
)

_SPLIT: Final = {"type": "Split", "pattern": {"Regex": r"[\s\S]"}, "behavior": "Isolated", "invert": False}
_DECODER: Final = {"type": "Fuse"}


@final
class Characters(Tokenizer):
    """A token is one code point. Characters outside the vocabulary become `<unk>`, so decoding may not restore the text.

    Ids: `<unk>`, then the other special tokens, then the characters by descending frequency.
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
        """Use the most frequent characters. `vocabulary` is an upper bound, since a text may have fewer characters.

        `pattern` and `processes` have no effect here; they are for byte-pair encoding.
        """
        special_tokens = reserve_special_tokens(specials, vocabulary)
        counts = np.zeros(CODE_POINTS, np.int64)
        for text in replace_special_tokens(chunks, special_tokens, replacement=""):
            block_counts = np.bincount(code_points(text))
            counts[: len(block_counts)] += block_counts
            if progress:
                progress(f"counting: {counts.sum() / 1e6:.0f} M characters", 0.0)
        frequencies = {chr(point): int(counts[point]) for point in np.flatnonzero(counts)}
        for special in special_tokens:
            frequencies.pop(special, None)
        texts = [*special_tokens, *most_frequent(frequencies, vocabulary - len(special_tokens))]
        return cls(texts, {special: id for id, special in enumerate(special_tokens)})

    def _to_json(self) -> dict[str, Any]:
        return build_word_level(self._texts, self.specials, self._unknown_text, _SPLIT, _DECODER)

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        if contents["pre_tokenizer"] != _SPLIT or contents.get("decoder") != _DECODER:
            raise UnsupportedTokenizer(
                f"a Split by {contents['pre_tokenizer'].get('pattern')} with decoder {contents.get('decoder')} is not "
                f"supported; only a Split by {_SPLIT['pattern']} with decoder {_DECODER} is",
            )
        return cls(*read_word_level(contents))


def code_points(text: str) -> np.ndarray:
    """The code points of a text."""
    return np.frombuffer(encode_unicode(text, "utf-32-le"), np.uint32)
