"""The interface of all tokenizers, and the handling of special tokens in text. Knows no particular vocabulary."""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np

from glasshouse.records import atomic_files
from glasshouse.specs.errors import DataError, GlasshouseError


class VocabularyTooLarge(DataError):
    """A vocabulary that a text cannot fill. `possible` is the largest that it can."""

    def __init__(self, message: str, possible: int = 0) -> None:
        super().__init__(message)
        self.possible = possible


END_OF_TEXT: Final = "<|endoftext|>"
UNKNOWN: Final = "<unk>"
MASK: Final = "<|mask|>"
TRANSLATE: Final = "<|translate|>"
# The mask token under our name and under the names that other tokenizers use.
MASK_NAMES: Final = (MASK, "[MASK]", "<mask>")

Progress = Callable[[str, float], None]
"""Receives a description of the current work and its completed fraction. The fraction is 0 while the total is unknown."""


class Tokenizer(ABC):
    """A vocabulary, which maps text to ids and ids to text. It is immutable, and threads may share it."""

    name: ClassVar[str]
    required_specials: ClassVar[tuple[str, ...]] = (END_OF_TEXT,)
    fewest_ordinary: ClassVar[int] = 1
    """The number of tokens that a trained vocabulary has at least, besides the special ones."""

    def __init__(self, tokens: Sequence[bytes | None], specials: Mapping[str, int]) -> None:
        """`tokens` holds the bytes of each id, special tokens included; None for an id that is not in use."""
        self._tokens = list(tokens)
        self.specials: dict[str, int] = dict(specials)
        self._special_pattern = special_pattern(self.specials)
        self._has_unused_ids = None in self._tokens

    @property
    def vocabulary(self) -> int:
        """The number of ids, special tokens included."""
        return len(self._tokens)

    @property
    def end_of_text(self) -> int | None:
        """The id of `<|endoftext|>`. All tokenizers trained here have it; an imported one may not."""
        return self.specials.get(END_OF_TEXT)

    @property
    def mask(self) -> int | None:
        return next((self.specials[name] for name in MASK_NAMES if name in self.specials), None)

    @property
    def document_start(self) -> int | None:
        """The id that precedes a document: the tokenizer's start token, or else the end-of-text token of the one before."""
        return self.prefix_and_suffix[0][0] if self.prefix_and_suffix[0] else self.end_of_text

    @property
    def unknown(self) -> int | None:
        """The id of the unknown token. None if the vocabulary covers every text."""
        return self.specials.get(UNKNOWN)

    @property
    def prefix_and_suffix(self) -> tuple[list[int], list[int]]:
        """The ids that a model of this tokenizer expects before and after a text, such as a start token.

        `encode` does not add them.
        """
        return [], []

    @property
    def pair_separator(self) -> list[int]:
        """The ids that a model of this tokenizer expects between the two texts of a pair; empty if it has none."""
        return self.prefix_and_suffix[1] or ([] if self.end_of_text is None else [self.end_of_text])

    def encode(self, text: str, *, specials: bool = True) -> np.ndarray:
        """The ids of a text, as int32.

        A special token in the text becomes its id. If several match at the same position, the longest is used. With
        `specials=False`, special tokens are encoded as ordinary text, so a document cannot inject them.
        """
        if not (specials and any(special in text for special in self.specials)):
            return self._encode_ordinary(text)
        parts, start = [], 0
        for match in self._special_pattern.finditer(text):
            parts.append(self._encode_ordinary(text[start : match.start()]))
            parts.append(np.array([self.specials[match.group()]], np.int32))
            start = match.end()
        parts.append(self._encode_ordinary(text[start:]))
        return np.concatenate(parts)

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        """The ids of each text. For many short texts, this can be much faster than separate calls of `encode`."""
        return [self.encode(text, specials=specials) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids, special tokens included. Bytes that are not valid UTF-8 become U+FFFD."""
        return b"".join(self._tokens_of(ids)).decode("utf-8", "replace")

    def token_bytes(self, id: int) -> bytes:
        """The bytes that one token adds to a text that is written token by token. For a special token, its text."""
        return self._tokens_of([id])[0]

    def save(self, path: str | PathLike[str]) -> None:
        """Write a `tokenizer.json`, which the `tokenizers` package can read as well."""
        try:
            atomic_files.write_json(Path(path), self._to_json())
        except OSError as error:
            raise GlasshouseError(f"cannot write the tokenizer to {path}: {error.strerror}; check the path") from None

    def digest(self) -> str:
        """A digest of all tokens and settings. Equal tokenizers have equal digests."""
        return hashlib.blake2b(json.dumps(self._to_json()).encode(), digest_size=16).hexdigest()

    @classmethod
    def train(
        cls,
        chunks: Iterable[str],
        vocabulary: int,
        *,
        pattern: str = "gpt-2",
        specials: Sequence[str] = (END_OF_TEXT,),
        processes: int | None = None,
        progress: Progress = lambda what, share: None,
    ) -> Self:
        """Train a tokenizer on a stream of text.

        The chunks are concatenated; to separate two documents, put `<|endoftext|>` or a newline between them. Special tokens
        in the text separate it and are not learned from. `<|endoftext|>` is always a special token. The result depends only
        on the text, not on the sizes of the chunks or on the number of `processes` (threads). `pattern` and `processes` are
        for byte-pair encoding alone.
        """
        missing = [special for special in cls.required_specials if special not in specials]
        special_tokens = list(dict.fromkeys([*missing, *specials]))
        if "" in special_tokens:
            raise GlasshouseError("a special token must have at least one character; remove the empty one from `specials`")
        fewest = len(special_tokens) + cls.fewest_ordinary
        if vocabulary < fewest:
            few = f"is too small for {', '.join(special_tokens)} and {cls.fewest_ordinary} others; choose {fewest} or more"
            raise GlasshouseError(few, "vocabulary", vocabulary)
        return cls._learn(chunks, vocabulary, special_tokens, progress, pattern, processes)

    @classmethod
    def _learn(
        cls,
        chunks: Iterable[str],
        vocabulary: int,
        specials: Sequence[str],
        report: Progress,
        pattern: str,
        processes: int | None,
    ) -> Self:
        """Train with arguments that have been checked, and with all special tokens."""
        raise GlasshouseError(
            "an imported tokenizer cannot be trained; choose byte-pair, words, treebank-words or characters instead"
        )

    @classmethod
    @abstractmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        """Create a tokenizer from the contents of a `tokenizer.json`. Raises `UnsupportedTokenizer` if it cannot."""

    @abstractmethod
    def _encode_ordinary(self, text: str) -> np.ndarray:
        """The ids of a text without special tokens."""

    @abstractmethod
    def _to_json(self) -> dict[str, Any]:
        """The contents of the `tokenizer.json`."""

    def _tokens_of(self, ids: Iterable[int]) -> list[bytes]:
        """The bytes of each id. Raises an error for an id that is negative, too large or not in use."""
        tokens = self._tokens
        listed: list[int] = ids.tolist() if hasattr(ids, "tolist") else [int(id) for id in ids]
        if listed and not (min(listed) >= 0 and max(listed) < len(tokens)):
            wrong = next(id for id in listed if not 0 <= id < len(tokens))
            raise GlasshouseError(f"the id {wrong} is not in the vocabulary; use ids from 0 to {len(tokens) - 1}")
        result = [tokens[id] for id in listed]
        if self._has_unused_ids and None in result:
            raise GlasshouseError(f"the id {listed[result.index(None)]} has no token in this vocabulary; use another id")
        return result  # type: ignore[return-value]


def special_pattern(specials: Iterable[str]) -> re.Pattern[str]:
    """A regular expression for any of these tokens. If several match at the same position, the longest does."""
    return re.compile("|".join(map(re.escape, sorted(specials, key=len, reverse=True))) or r"(?!)")


def encode_unicode(text: str, encoding: str) -> bytes:
    """The text in UTF-8 or another Unicode encoding. Raises an error for a lone surrogate, which is not a character."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise DataError(f"U+{ord(text[error.start]):04X} at index {error.start} is a lone surrogate; remove it") from None
