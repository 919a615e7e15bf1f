"""Byte-level byte-pair encoding: the tokenizer that can spell any text; knows nothing of how its kernels work."""

import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.specs.errors import DataError, GlasshouseError
from glasshouse.tokenizers.base import END_OF_TEXT, Progress, Tokenizer, encoded, special_tokens
from glasshouse.tokenizers.byte_alphabet import BYTE_OF_LETTER, LETTERS, from_letters, to_letters
from glasshouse.tokenizers.byte_pair_encoder import PieceEncoder
from glasshouse.tokenizers.byte_pair_merging import merge_table
from glasshouse.tokenizers.byte_pair_training import learn
from glasshouse.tokenizers.document import UnsupportedTokenizer, check_document, check_settings, document_of, read_specials
from glasshouse.tokenizers.piece_counts import count_stream
from glasshouse.tokenizers.pretokenizer import PATTERNS

BYTES: Final = 256
MOST_THREADS: Final = 4
"""More hardly help: the part of counting that one thread at a time can do becomes the limit."""

Merge = tuple[int, int, int]
"""Left id, right id, the id of both together."""

_MODEL_SETTINGS: Final = {
    "type": (None, "BPE"),
    "dropout": (None, 0, 0.0),
    "unk_token": (),  # Judged once the vocabulary is known.
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "fuse_unk": (),  # Without an unknown token this does nothing.
    "byte_fallback": (None, False),
    "ignore_merges": (None, False),
    "vocab": (),
    "merges": (),
}


@final
class BytePair(Tokenizer):
    """Text is split into pieces; a piece starts as its bytes, and pairs of neighbours are merged in the order learned.

    Ids: the special tokens, the 256 bytes in the order of their letters in the file, then the merges in their order.
    """

    name: ClassVar[str] = "byte-pair"

    def __init__(
        self, tokens: Sequence[bytes | None], merges: Sequence[Merge], specials: Mapping[str, int], pattern: str
    ) -> None:
        super().__init__(tokens, specials)
        self.merges = list(merges)
        self.pattern = pattern
        self._byte_ids = np.full(BYTES, -1, np.int32)
        marks = set(self.specials.values())
        for id, token in enumerate(self._tokens):
            if token is not None and len(token) == 1 and id not in marks:
                self._byte_ids[token[0]] = id
        # A file from elsewhere may lack bytes that its training text lacked. Such bytes get no token and are lost.
        self.lossless = bool((self._byte_ids >= 0).all())
        self._merge_table = merge_table(self.merges)
        self._of_thread = threading.local()

    @property
    def _encoder(self) -> PieceEncoder:
        try:
            return self._of_thread.encoder
        except AttributeError:
            self._of_thread.encoder = PieceEncoder(self._byte_ids, self._merge_table, self.pattern)
            return self._of_thread.encoder

    def _encode_ordinary(self, text: str) -> np.ndarray:
        return self._encoder.encode(encoded(text, "utf-8"))

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        if specials and any(mark in text for text in texts for mark in self.specials):
            return super().encode_batch(texts)
        return self._encoder.encode_batch([encoded(text, "utf-8") for text in texts])

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
        """Learn merges until there are exactly `vocabulary` tokens; the kernels say how counting and ties are done."""
        if pattern not in PATTERNS:
            raise GlasshouseError("unknown-word", f"pattern={pattern!r} is not known; choose one of {', '.join(PATTERNS)}")
        marks = special_tokens(specials, always=(END_OF_TEXT,))
        least = BYTES + len(marks)
        if vocabulary < least:
            raise GlasshouseError(
                "vocabulary-too-small",
                f"vocabulary={vocabulary} is too small: the {BYTES} bytes and {len(marks)} special tokens are {least}; "
                f"choose {least} or more",
            )
        report: Progress = progress or (lambda stage, fraction: None)
        counts = count_stream(
            chunks,
            pattern,
            marks,
            processes or min(os.cpu_count() or 1, MOST_THREADS),
            lambda characters: report(f"counting: {characters / 1e6:.0f} M characters", 0.0),
        )
        alphabet = np.array([BYTE_OF_LETTER[letter] for letter in LETTERS], np.uint8)
        wanted = vocabulary - len(marks)
        learned, reached = learn(*counts.result(), alphabet, wanted, lambda tokens: report("merging", tokens / wanted))
        if reached < wanted:
            possible = reached + len(marks)
            raise DataError(
                "vocabulary-too-large",
                f"data.vocabulary={vocabulary} is more than this text can give: it has {possible} different tokens at "
                f"most; choose data.vocabulary={possible} or less, or give it more text",
            )
        shift = len(marks)
        tokens: list[bytes] = [mark.encode() for mark in marks] + [bytes([byte]) for byte in alphabet]
        merges = [(left + shift, right + shift, id + shift) for left, right, id in learned]
        made = {id: (left, right) for left, right, id in reversed(merges)}
        for id in range(len(tokens), vocabulary):
            left, right = made[id]
            tokens.append(tokens[left] + tokens[right])
        written = {to_letters(token) for token in tokens[len(marks) :]}
        for mark in marks:
            if mark in written:
                raise GlasshouseError(
                    "ambiguous-special-token",
                    f"the special token {mark!r} is also how an ordinary token is written in a file; choose one that is "
                    "longer or has signs around it, such as <|...|>",
                )
        return cls(tokens, merges, {mark: id for id, mark in enumerate(marks)}, pattern)

    def _document(self) -> dict[str, Any]:
        letters = [None if token is None else to_letters(token) for token in self._tokens]
        marks = {id: text for text, id in self.specials.items()}
        model = {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {marks.get(id, token): id for id, token in enumerate(letters) if token is not None},
            "merges": [[letters[left], letters[right]] for left, right, _ in self.merges],
        }
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
        if self.pattern == "gpt-2":
            return document_of(self.specials, model, {**level, "use_regex": True}, {**level, "use_regex": True})
        split = {
            "type": "Split",
            "pattern": {"Regex": PATTERNS[self.pattern]},
            "behavior": "Isolated",
            "invert": False,
        }
        sequence = {"type": "Sequence", "pretokenizers": [split, {**level, "use_regex": False}]}
        return document_of(self.specials, model, sequence, {**level, "use_regex": True})

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        check_document(document)
        model = document["model"]
        check_settings("the model", model, _MODEL_SETTINGS)
        pattern = _read_pattern(document.get("pre_tokenizer"))
        decoder = document.get("decoder") or {}
        if decoder.get("type") != "ByteLevel":
            raise UnsupportedTokenizer(f"decoder {decoder.get('type')!r} is not supported with model type 'BPE'")
        vocabulary: dict[str, int] = model["vocab"]
        # Where every byte is a token, nothing is unknown, and the name of an unknown token does nothing.
        if model.get("unk_token") is not None and not set(LETTERS) <= set(vocabulary):
            raise UnsupportedTokenizer(
                f"unk_token={json.dumps(model['unk_token'])} is not supported where a byte has no token",
            )
        specials = read_specials(document, vocabulary)
        tokens: list[bytes | None] = [None] * (1 + max([*vocabulary.values(), *specials.values()], default=-1))
        for letters, id in vocabulary.items():
            tokens[id] = from_letters(letters)
        for text, id in specials.items():
            tokens[id] = text.encode()
        merges = []
        for merge in model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            merges.append((vocabulary[left], vocabulary[right], vocabulary[left + right]))
        return cls(tokens, merges, specials, pattern)


def _read_pattern(found: Any) -> str:
    """The name of the pattern that a pre-tokenizer follows."""
    kind = (found or {}).get("type")
    if kind == "ByteLevel":
        _check_level(found, (True,))
        return "gpt-2"
    parts = found.get("pretokenizers", []) if kind == "Sequence" else []
    if [part.get("type") for part in parts] != ["Split", "ByteLevel"]:
        within = f" of {[part.get('type') for part in parts]}" if parts else ""
        raise UnsupportedTokenizer(f"pre_tokenizer {kind!r}{within} is not supported with model type 'BPE'")
    split, level = parts
    _check_level(level, (False,))
    check_settings(
        "the pre_tokenizer Split",
        split,
        {"type": (), "pattern": (), "behavior": ("Isolated",), "invert": (False,)},
    )
    for name, pattern in PATTERNS.items():
        if split["pattern"] == {"Regex": pattern}:
            return name
    raise UnsupportedTokenizer(f"the pattern {split['pattern']} of the pre_tokenizer Split is not supported")


def _check_level(level: Mapping[str, Any], use_regex: tuple[bool, ...]) -> None:
    check_settings(
        "the pre_tokenizer ByteLevel",
        {"use_regex": True, **level},
        {"type": (), "add_prefix_space": (False,), "trim_offsets": (), "use_regex": use_regex},
    )
