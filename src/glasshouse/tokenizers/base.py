"""What every tokenizer offers, and how special tokens are found in text; knows nothing of any one vocabulary."""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Final, Self

import numpy as np

from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers.document import write_document

END_OF_TEXT: Final = "<|endoftext|>"
UNKNOWN: Final = "<unk>"
MASK: Final = "<|mask|>"
TRANSLATE: Final = "<|translate|>"
# What others call the token that stands for a hidden one.
MASKS: Final = (MASK, "[MASK]", "<mask>")

Progress = Callable[[str, float], None]
"""Hears what is being done and which fraction of it; for counting a stream, whose length is unknown, that stays 0."""


class Tokenizer(ABC):
    """A vocabulary: ids for text, and text for ids. It never changes once made, and threads may share it."""

    name: ClassVar[str]
    lossless: bool
    """Whether `decode(encode(text)) == text` for every text."""

    def __init__(self, tokens: Sequence[bytes | None], specials: Mapping[str, int]) -> None:
        """`tokens` holds what each id stands for (None for an id that is not in use), special tokens included."""
        self._tokens = list(tokens)
        self.specials: dict[str, int] = dict(specials)
        longest_first = sorted(self.specials, key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._has_gaps = None in self._tokens

    @property
    def vocabulary(self) -> int:
        """How many ids there are, special tokens included."""
        return len(self._tokens)

    @property
    def end_of_text(self) -> int | None:
        """The id of `<|endoftext|>`. Every tokenizer trained here has one; a file from elsewhere may not."""
        return self.specials.get(END_OF_TEXT)

    @property
    def mask(self) -> int | None:
        """The id that stands for a hidden token, where this tokenizer has one."""
        return next((self.specials[name] for name in MASKS if name in self.specials), None)

    @property
    def beginning(self) -> int | None:
        """The id that stands before a document: what this tokenizer puts first, or the end of the document before."""
        return self.frame[0][0] if self.frame[0] else self.end_of_text

    @property
    def unknown(self) -> int | None:
        """The id for what the vocabulary lacks, or None if it lacks nothing."""
        return self.specials.get(UNKNOWN)

    @property
    def frame(self) -> tuple[list[int], list[int]]:
        """Ids that this tokenizer's models expect before and after a text (a start token, say). `encode` gives neither."""
        return [], []

    def encode(self, text: str, *, specials: bool = True) -> np.ndarray:
        """The ids of a text, as int32.

        A special token written in the text becomes its id; of several that begin at one place, the longest. With
        `specials=False` it is ordinary text, so that a document cannot bring in marks of its own.
        """
        for mark in self.specials if specials else ():
            if mark in text:
                break
        else:
            return self._encode_ordinary(text)
        parts, start = [], 0
        for match in self._marks.finditer(text):
            parts.append(self._encode_ordinary(text[start : match.start()]))
            parts.append(np.array([self.specials[match.group()]], np.int32))
            start = match.end()
        parts.append(self._encode_ordinary(text[start:]))
        return np.concatenate(parts)

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        """The ids of each text. For many short texts this can be much faster than one call for each."""
        return [self.encode(text, specials=specials) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids, special tokens included. Bytes that are not UTF-8 become U+FFFD."""
        return b"".join(self._spelled(ids)).decode("utf-8", "replace")

    def token_bytes(self, id: int) -> bytes:
        """The bytes that one token adds to a text as it is written out token by token; of a special token, its text."""
        return self._spelled([id])[0]

    def save(self, path: str | PathLike[str]) -> None:
        """Write a `tokenizer.json`, which the `tokenizers` package can read too."""
        write_document(path, self._document())

    def digest(self) -> str:
        """A name for what this tokenizer does: equal ones share it, and it changes with any token or setting."""
        return hashlib.blake2b(json.dumps(self._document()).encode(), digest_size=16).hexdigest()

    @classmethod
    @abstractmethod
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
        """Make a vocabulary from a stream of text.

        The chunks are taken as one text, whatever their sizes: end a document with `<|endoftext|>` or a newline if what
        follows is another. Special tokens in the text divide it and are not learned from. `<|endoftext|>` is always
        among the special tokens. The result depends on the text alone, not on the chunks or on how many `processes`
        (threads) share the work.
        """

    @classmethod
    @abstractmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Make a tokenizer from the contents of a `tokenizer.json`; raises `Unsupported` for what it cannot follow."""

    @abstractmethod
    def _encode_ordinary(self, text: str) -> np.ndarray:
        """The ids of a text without special tokens."""

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """The contents of a `tokenizer.json`."""

    def _spelled(self, ids: Iterable[int]) -> list[bytes]:
        """What each id stands for. A negative or unused id is refused, as one that is too large."""
        tokens = self._tokens
        listed: list[int] = ids.tolist() if hasattr(ids, "tolist") else [int(id) for id in ids]
        if listed and not (min(listed) >= 0 and max(listed) < len(tokens)):
            wrong = next(id for id in listed if not 0 <= id < len(tokens))
            raise GlasshouseError(
                "unknown-token-id", f"id {wrong} is not in the vocabulary; its ids are 0 to {len(tokens) - 1}"
            )
        spelled = [tokens[id] for id in listed]
        if self._has_gaps and None in spelled:
            raise GlasshouseError(
                "unknown-token-id", f"id {listed[spelled.index(None)]} stands for nothing in this vocabulary"
            )
        return spelled  # type: ignore[return-value]


def special_tokens(given: Sequence[str], always: Sequence[str]) -> list[str]:
    """The special tokens to train with: those that are always there, then the others given."""
    marks = list(dict.fromkeys([*(mark for mark in always if mark not in given), *given]))
    if "" in marks:
        raise GlasshouseError(
            "empty-special-token", "a special token must have at least one character; one of those given is empty"
        )
    return marks


def encoded(text: str, form: str) -> bytes:
    """The text in UTF-8 or another form of Unicode. Half of a surrogate pair, which is no character, is refused."""
    try:
        return text.encode(form)
    except UnicodeEncodeError as error:
        raise DataError(
            "lone-surrogate",
            f"the text has half of a surrogate pair, U+{ord(text[error.start]):04X}, at index {error.start}, which no "
            "form of Unicode can express; read the text with errors='replace', or remove it",
        ) from None
