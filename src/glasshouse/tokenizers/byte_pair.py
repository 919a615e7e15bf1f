"""The byte-level byte-pair tokenizer, which can encode any text. Knows nothing of how its kernels work.

The compiler (numba) is imported when a tokenizer is trained, or has a long text to encode.
"""

import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers.base import (
    END_OF_TEXT,
    Progress,
    Tokenizer,
    VocabularyTooLarge,
    collect_special_tokens,
    encode_unicode,
)
from glasshouse.tokenizers.byte_alphabet import BYTE_OF_LETTER, LETTERS, from_letters, to_letters
from glasshouse.tokenizers.piece_patterns import PATTERNS
from glasshouse.tokenizers.plain_encoder import PlainEncoder
from glasshouse.tokenizers.tokenizer_json import (
    UnsupportedTokenizer,
    build_contents,
    check_common_parts,
    check_settings,
    read_special_tokens,
)

if TYPE_CHECKING:
    from glasshouse.tokenizers.byte_pair_encoder import PieceEncoder

BYTES: Final = 256
PLAIN_BYTES: Final = 1 << 14
"""A tokenizer encodes so many bytes in plain Python, in less than a tenth of a second. From then on it uses compiled code,
which takes a second to load."""

PLAIN_TEXT_BYTES: Final = 1 << 10
"""Longer texts are encoded by compiled code: the time of plain Python grows with the square of a piece."""

MAX_THREADS: Final = 4
"""More threads hardly help: combining the counts runs on one thread and becomes the bottleneck."""

Merge = tuple[int, int, int]
"""Left id, right id, merged id."""

_MODEL_SETTINGS: Final = {
    "type": (None, "BPE"),
    "dropout": (None, 0, 0.0),
    "unk_token": (),  # checked separately, together with the vocabulary
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "fuse_unk": (),  # has no effect without an unknown token
    "byte_fallback": (None, False),
    "ignore_merges": (None, False),
    "vocab": (),
    "merges": (),
}


@final
class BytePair(Tokenizer):
    """Text is split into pieces. A piece starts as its bytes, and pairs of neighbours are merged in the order learned.

    Ids: the special tokens, then the 256 bytes in the order of their letters in the file, then the merges in their order.
    """

    name: ClassVar[str] = "byte-pair"

    def __init__(
        self, tokens: Sequence[bytes | None], merges: Sequence[Merge], specials: Mapping[str, int], pattern: str
    ) -> None:
        super().__init__(tokens, specials)
        self.merges = list(merges)
        self.pattern = pattern
        self._byte_ids = np.full(BYTES, -1, np.int32)
        special_ids = set(self.specials.values())
        for id, token in enumerate(self._tokens):
            if token is not None and len(token) == 1 and id not in special_ids:
                self._byte_ids[token[0]] = id
        # The vocabulary of an imported file may not contain every byte. Encoding drops the bytes that it lacks.
        self.lossless = bool((self._byte_ids >= 0).all())
        self._plain_bytes_left = PLAIN_BYTES
        self._thread_local = threading.local()

    @cached_property
    def _plain_encoder(self) -> PlainEncoder:
        return PlainEncoder(self._byte_ids, self.merges, self.pattern)

    @cached_property
    def _merge_table(self) -> np.ndarray:
        from glasshouse.tokenizers.byte_pair_merging import build_merge_table

        return build_merge_table(self.merges)

    @property
    def _encoder(self) -> "PieceEncoder":
        """The compiled encoder of the current thread."""
        try:
            return self._thread_local.encoder
        except AttributeError:
            from glasshouse.tokenizers.byte_pair_encoder import PieceEncoder

            self._plain_bytes_left = 0
            self._thread_local.encoder = PieceEncoder(self._byte_ids, self._merge_table, self.pattern)
            return self._thread_local.encoder

    def _encode_ordinary(self, text: str) -> np.ndarray:
        encoded = encode_unicode(text, "utf-8")
        if len(encoded) <= min(PLAIN_TEXT_BYTES, self._plain_bytes_left):
            self._plain_bytes_left -= len(encoded)
            return self._plain_encoder.encode(text)
        return self._encoder.encode(encoded)

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        if specials and any(special in text for text in texts for special in self.specials):
            return super().encode_batch(texts)
        if sum(map(len, texts)) <= min(PLAIN_TEXT_BYTES, self._plain_bytes_left):
            return [self._encode_ordinary(text) for text in texts]
        return self._encoder.encode_batch([encode_unicode(text, "utf-8") for text in texts])

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
        """Learn merges until there are exactly `vocabulary` tokens. `byte_pair_training` describes the algorithm."""
        from glasshouse.tokenizers.byte_pair_training import learn_merges
        from glasshouse.tokenizers.piece_counts import count_stream

        if pattern not in PATTERNS:
            raise GlasshouseError(f"is not known; choose one of {', '.join(PATTERNS)}", "pattern", pattern)
        special_tokens = collect_special_tokens(specials, required=(END_OF_TEXT,))
        smallest = BYTES + len(special_tokens)
        if vocabulary < smallest:
            raise GlasshouseError(
                f"is too small for {BYTES} bytes and {len(special_tokens)} special tokens; choose {smallest} or more",
                "vocabulary",
                vocabulary,
            )
        report: Progress = progress or (lambda stage, fraction: None)
        counts = count_stream(
            chunks,
            pattern,
            special_tokens,
            processes or min(os.cpu_count() or 1, MAX_THREADS),
            lambda characters: report(f"counting: {characters / 1e6:.0f} M characters", 0.0),
        )
        alphabet = np.array([BYTE_OF_LETTER[letter] for letter in LETTERS], np.uint8)
        target = vocabulary - len(special_tokens)
        learned, reached = learn_merges(
            *counts.to_arrays(), alphabet, target, lambda tokens: report("merging", tokens / target)
        )
        if reached < target:
            possible = reached + len(special_tokens)
            raise VocabularyTooLarge(
                f"data.vocabulary={vocabulary} is too large for this text, which gives at most {possible} tokens; "
                f"choose data.vocabulary={possible} or less, or add more text",
                possible,
            )
        shift = len(special_tokens)
        tokens: list[bytes] = [special.encode() for special in special_tokens] + [bytes([byte]) for byte in alphabet]
        merges = [(left + shift, right + shift, id + shift) for left, right, id in learned]
        halves = {id: (left, right) for left, right, id in reversed(merges)}
        for id in range(len(tokens), vocabulary):
            left, right = halves[id]
            tokens.append(tokens[left] + tokens[right])
        written = {to_letters(token) for token in tokens[len(special_tokens) :]}
        for special in special_tokens:
            if special in written:
                raise GlasshouseError(
                    f"the special token {special!r} is written like an ordinary token in tokenizer.json; choose a longer "
                    "one, or one with brackets such as <|...|>"
                )
        return cls(tokens, merges, {special: id for id, special in enumerate(special_tokens)}, pattern)

    def _to_json(self) -> dict[str, Any]:
        letters = [None if token is None else to_letters(token) for token in self._tokens]
        special_texts = {id: text for text, id in self.specials.items()}
        model = {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {special_texts.get(id, token): id for id, token in enumerate(letters) if token is not None},
            "merges": [[letters[left], letters[right]] for left, right, _ in self.merges],
        }
        byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
        decoder = {**byte_level, "use_regex": True}
        if self.pattern == "gpt-2":
            return build_contents(self.specials, model, {**byte_level, "use_regex": True}, decoder)
        split = {
            "type": "Split",
            "pattern": {"Regex": PATTERNS[self.pattern]},
            "behavior": "Isolated",
            "invert": False,
        }
        sequence = {"type": "Sequence", "pretokenizers": [split, {**byte_level, "use_regex": False}]}
        return build_contents(self.specials, model, sequence, decoder)

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        check_common_parts(contents)
        model = contents["model"]
        check_settings("the model", model, _MODEL_SETTINGS)
        pattern = _read_pattern(contents.get("pre_tokenizer"))
        decoder = contents.get("decoder") or {}
        if decoder.get("type") != "ByteLevel":
            raise UnsupportedTokenizer(f"decoder {decoder.get('type')!r} is not supported with model type 'BPE'")
        vocabulary: dict[str, int] = model["vocab"]
        # If every byte is a token, no text is unknown, and an unknown token has no effect.
        if model.get("unk_token") is not None and not set(LETTERS) <= set(vocabulary):
            raise UnsupportedTokenizer(
                f"unk_token={json.dumps(model['unk_token'])} is only supported if the vocabulary contains all bytes",
            )
        specials = read_special_tokens(contents, vocabulary)
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


def _read_pattern(pre_tokenizer: Any) -> str:
    """The name of the split pattern that a pre-tokenizer uses."""
    kind = (pre_tokenizer or {}).get("type")
    if kind == "ByteLevel":
        _check_byte_level(pre_tokenizer, (True,))
        return "gpt-2"
    parts = pre_tokenizer.get("pretokenizers", []) if kind == "Sequence" else []
    if [part.get("type") for part in parts] != ["Split", "ByteLevel"]:
        listed = f" of {[part.get('type') for part in parts]}" if parts else ""
        raise UnsupportedTokenizer(f"pre_tokenizer {kind!r}{listed} is not supported with model type 'BPE'")
    split, byte_level = parts
    _check_byte_level(byte_level, (False,))
    check_settings(
        "the pre_tokenizer Split",
        split,
        {"type": (), "pattern": (), "behavior": ("Isolated",), "invert": (False,)},
    )
    for name, pattern in PATTERNS.items():
        if split["pattern"] == {"Regex": pattern}:
            return name
    raise UnsupportedTokenizer(f"the pattern {split['pattern']} of the pre_tokenizer Split is not supported")


def _check_byte_level(settings: Mapping[str, Any], use_regex: tuple[bool, ...]) -> None:
    check_settings(
        "the pre_tokenizer ByteLevel",
        {"use_regex": True, **settings},
        {"type": (), "add_prefix_space": (False,), "trim_offsets": (), "use_regex": use_regex},
    )
