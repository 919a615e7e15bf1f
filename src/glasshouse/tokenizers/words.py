"""Tokenizers with a list of whole texts as tokens, chosen by their frequency: the base class, words and characters.

Knows nothing of bytes or subwords.
"""

import functools
import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.tokenizers.base import END_OF_TEXT, UNKNOWN, Progress, Tokenizer, encode_unicode, special_pattern
from glasshouse.tokenizers.piece_patterns import CODE_POINTS, WHITESPACE, WORD, members
from glasshouse.tokenizers.safe_boundaries import split_into_blocks
from glasshouse.tokenizers.tokenizer_json import (
    UnsupportedTokenizer,
    build_contents,
    check_parts,
    check_settings,
    read_special_tokens,
    split_by,
)

MAX_COUNTED_WORDS: Final = 1 << 23
"""If counting finds more distinct words than this, the rarest are dropped until half of this number is left."""


class WordLevel(Tokenizer):
    """Ids: `<unk>`, then the other special tokens, then the words by descending frequency; ties by their code points.

    Decoding does not restore the text: words outside the vocabulary become `<unk>`, and `decode` puts a space between any
    two tokens, as the `tokenizers` package does. `token_bytes` starts with that space. `vocabulary` is an upper bound in
    training, since a text may have fewer words.
    """

    required_specials: ClassVar[tuple[str, ...]] = (UNKNOWN, END_OF_TEXT)
    space: ClassVar[str] = " "
    """What decoding puts between two tokens."""
    separator: ClassVar[str] = " "
    """What separates two texts in a stream. A special token in the text becomes this."""
    # The parts of a tokenizer.json with which the `tokenizers` package splits a text into the same words.
    normalizer: ClassVar[Mapping[str, Any] | None] = None
    pre_tokenizer: ClassVar[Mapping[str, Any]]
    decoder: ClassVar[Mapping[str, Any] | None] = None

    def __init__(self, texts: Sequence[str], specials: Mapping[str, int], unknown: str = UNKNOWN) -> None:
        super().__init__([(text if text in specials else self.space + text).encode() for text in texts], specials)
        self._texts = list(texts)
        self._ids = {text: id for id, text in enumerate(texts) if text not in specials}
        self._unknown_text = unknown
        self._unknown = self._texts.index(unknown)

    @staticmethod
    @abstractmethod
    def split(text: str) -> list[str]:
        """The words of a text."""

    @classmethod
    def count(cls, text: str) -> Mapping[str, int]:
        return Counter(cls.split(text))

    @property
    def unknown(self) -> int | None:
        return self._unknown

    def _encode_ordinary(self, text: str) -> np.ndarray:
        encode_unicode(text, "utf-8")  # raises an error for a lone surrogate
        ids, unknown = self._ids, self._unknown
        return np.array([ids.get(word, unknown) for word in self.split(text)], np.int32)

    def decode(self, ids: Iterable[int]) -> str:
        """The tokens with one space between any two."""
        space = self.space.encode()
        return space.join(token.removeprefix(space) for token in self._tokens_of(ids)).decode()

    @classmethod
    def _learn(
        cls, chunks: Iterable[str], vocabulary: int, specials: Sequence[str], report: Progress, *settings: Any
    ) -> Self:
        special = special_pattern(specials)
        counts: Counter[str] = Counter()
        for block in split_into_blocks(chunks, specials):
            counts.update(cls.count(special.sub(cls.separator, block)))
            if len(counts) > MAX_COUNTED_WORDS:
                counts = Counter(dict(counts.most_common(MAX_COUNTED_WORDS // 2)))
            report(f"counting: {len(counts)} different tokens", 0.0)
        for text in specials:
            counts.pop(text, None)
        by_frequency = sorted(counts, key=lambda text: (-counts[text], text))
        texts = [*specials, *by_frequency[: vocabulary - len(specials)]]
        return cls(texts, {text: id for id, text in enumerate(specials)})

    def _to_json(self) -> dict[str, Any]:
        vocabulary = {text: id for id, text in enumerate(self._texts)}
        model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": self._unknown_text}
        return build_contents(
            self.specials, model, normalizer=self.normalizer, pre_tokenizer=self.pre_tokenizer, decoder=self.decoder
        )

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        check_parts(contents, normalizer=cls.normalizer, pre_tokenizer=cls.pre_tokenizer, decoder=cls.decoder)
        model = contents["model"]
        check_settings("the model", model, {"type": "WordLevel"}, free=("vocab", "unk_token"))
        vocabulary: dict[str, int] = model["vocab"]
        specials = read_special_tokens(contents, vocabulary)
        unknown = model["unk_token"]
        by_id = {id: text for text, id in {**vocabulary, **specials}.items()}
        if sorted(by_id) != list(range(len(by_id))):
            raise UnsupportedTokenizer("the ids of the vocabulary must be 0, 1, 2, ... without a gap, and they are not")
        if unknown not in vocabulary:
            raise UnsupportedTokenizer(f"unk_token={json.dumps(unknown)} is not in the vocabulary")
        return cls([by_id[id] for id in range(len(by_id))], specials, unknown)


@functools.cache
def word_pattern() -> re.Pattern[str]:
    r"""`\w+|[^\w\s]+` with our own character classes. Python's `\w` lacks combining marks and changes with its version."""
    return re.compile(f"[{members(WORD)}]+|[^{members(WORD)}{members(WHITESPACE)}]+")


@final
class Words(WordLevel):
    """A token is a sequence of word characters, or a sequence of characters that are neither word characters nor whitespace.

    Encoding the decoded text gives the same ids again.
    """

    name: ClassVar[str] = "words"
    pre_tokenizer: ClassVar[Mapping[str, Any]] = {"type": "Whitespace"}

    @staticmethod
    def split(text: str) -> list[str]:
        return word_pattern().findall(text)


def code_points(text: str) -> np.ndarray:
    return np.frombuffer(encode_unicode(text, "utf-32-le"), np.uint32)


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
