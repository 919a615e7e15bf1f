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
from glasshouse.tokenizers.base import Progress, Tokenizer, VocabularyTooLarge, encode_unicode
from glasshouse.tokenizers.piece_patterns import PATTERNS, split
from glasshouse.tokenizers.tokenizer_json import (
    BYTE_LEVEL,
    BYTE_OF_LETTER,
    LETTERS,
    UnsupportedTokenizer,
    build_contents,
    check_parts,
    check_settings,
    from_letters,
    read_special_tokens,
    split_by,
    to_letters,
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

MODEL: Final = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


@final
class BytePair(Tokenizer):
    """Text is split into pieces. A piece starts as its bytes, and pairs of neighbours are merged in the order learned.

    Ids: the special tokens, then the 256 bytes in the order of their letters in the file, then the merges in their order.
    """

    name: ClassVar[str] = "byte-pair"
    fewest_ordinary: ClassVar[int] = BYTES

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
        self._plain_bytes_left = PLAIN_BYTES
        self._plain_pieces: dict[str, list[int]] = {}
        self._thread_local = threading.local()

    @cached_property
    def _merge_table(self) -> np.ndarray:
        from glasshouse.tokenizers.byte_pair_encoder import build_merge_table

        return build_merge_table(self.merges)

    @cached_property
    def _ranks(self) -> dict[tuple[int, int], tuple[int, int]]:
        return {(left, right): (rank, merged) for rank, (left, right, merged) in enumerate(self.merges)}

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
            return self._encode_plainly(text)
        return self._encoder.encode(encoded)

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        if specials and any(special in text for text in texts for special in self.specials):
            return super().encode_batch(texts)
        if sum(map(len, texts)) <= min(PLAIN_TEXT_BYTES, self._plain_bytes_left):
            return [self._encode_ordinary(text) for text in texts]
        return self._encoder.encode_batch([encode_unicode(text, "utf-8") for text in texts])

    def _encode_plainly(self, text: str) -> np.ndarray:
        """The ids by the definition, in plain Python. The compiled encoder gives the same.

        It is far faster, but importing its compiler takes a second. A prompt is encoded here in a hundredth of that.
        """
        ids: list[int] = []
        for piece in split(text, self.pattern):
            if piece not in self._plain_pieces:
                self._plain_pieces[piece] = self._merge_plainly(piece.encode())
            ids += self._plain_pieces[piece]
        return np.array(ids, np.int32)

    def _merge_plainly(self, piece: bytes) -> list[int]:
        """Merge the pair of lowest rank, leftmost first, until no known pair is left. Bytes without an id are dropped."""
        ids = [id for id in self._byte_ids[list(piece)].tolist() if id >= 0]
        while True:
            pairs = enumerate(zip(ids, ids[1:], strict=False))
            candidates = [(*self._ranks[pair], index) for index, pair in pairs if pair in self._ranks]
            if not candidates:
                return ids
            _, merged, index = min(candidates)
            ids[index : index + 2] = [merged]

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
        """Learn merges until there are exactly `vocabulary` tokens. `byte_pair_training` describes the algorithm."""
        from glasshouse.tokenizers.byte_pair_training import learn_merges
        from glasshouse.tokenizers.piece_counts import count_stream

        if pattern not in PATTERNS:
            raise GlasshouseError(f"is not known; choose one of {', '.join(PATTERNS)}", "pattern", pattern)
        counts = count_stream(
            chunks,
            pattern,
            specials,
            processes or min(os.cpu_count() or 1, MAX_THREADS),
            lambda characters: report(f"counting: {characters / 1e6:.0f} M characters", 0.0),
        )
        alphabet = np.array([BYTE_OF_LETTER[letter] for letter in LETTERS], np.uint8)
        shift, target = len(specials), vocabulary - len(specials)
        learned, reached = learn_merges(
            *counts.to_arrays(), alphabet, target, lambda tokens: report("merging", tokens / target)
        )
        if reached < target:
            possible = reached + shift
            problem = f"data.vocabulary={vocabulary} is too large for this text; choose data.vocabulary={possible} or less"
            raise VocabularyTooLarge(problem, possible)
        tokens: list[bytes] = [special.encode() for special in specials] + [bytes([byte]) for byte in alphabet]
        merges = [(left + shift, right + shift, id + shift) for left, right, id in learned]
        halves = {id: (left, right) for left, right, id in reversed(merges)}
        for id in range(len(tokens), vocabulary):
            left, right = halves[id]
            tokens.append(tokens[left] + tokens[right])
        written = {to_letters(token) for token in tokens[shift:]}
        for special in specials:
            if special in written:
                raise GlasshouseError(f"the special token {special!r} is also an ordinary one; choose one like <|...|>")
        return cls(tokens, merges, {special: id for id, special in enumerate(specials)}, pattern)

    def _to_json(self) -> dict[str, Any]:
        letters = [None if token is None else to_letters(token) for token in self._tokens]
        special_texts = {id: text for text, id in self.specials.items()}
        model = {
            **MODEL,
            "vocab": {special_texts.get(id, token): id for id, token in enumerate(letters) if token is not None},
            "merges": [[letters[left], letters[right]] for left, right, _ in self.merges],
        }
        return build_contents(self.specials, model, pre_tokenizer=pre_tokenizer(self.pattern), decoder=BYTE_LEVEL)

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        check_parts(contents)
        model = contents["model"]
        check_settings("the model", model, MODEL, free=("unk_token", "fuse_unk", "vocab", "merges"))
        pattern = _read_pattern(contents.get("pre_tokenizer") or {})
        decoder = (contents.get("decoder") or {}).get("type")
        if decoder != "ByteLevel":
            raise UnsupportedTokenizer(f"decoder {decoder!r} is not supported with model type 'BPE'")
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


def pre_tokenizer(pattern: str) -> dict[str, Any]:
    """The part of the file that splits a text into pieces."""
    if pattern == "gpt-2":
        return BYTE_LEVEL
    return {"type": "Sequence", "pretokenizers": [split_by(PATTERNS[pattern]), {**BYTE_LEVEL, "use_regex": False}]}


def _read_pattern(part: Mapping[str, Any]) -> str:
    """The name of the split pattern that a pre-tokenizer uses."""
    parts = part.get("pretokenizers", []) if part.get("type") == "Sequence" else [part]
    kinds = [each.get("type") for each in parts]
    if kinds not in (["ByteLevel"], ["Split", "ByteLevel"]):
        listed = f" of {kinds}" if kinds != [part.get("type")] else ""
        raise UnsupportedTokenizer(f"pre_tokenizer {part.get('type')!r}{listed} is not supported with model type 'BPE'")
    *splits, byte_level = parts
    ours = {**BYTE_LEVEL, "use_regex": not splits}
    check_settings("the pre_tokenizer ByteLevel", {"use_regex": True, **byte_level}, ours, free=("trim_offsets",))
    if not splits:
        return "gpt-2"
    for name, pattern in PATTERNS.items():
        if splits == [split_by(pattern)]:
            return name
    raise UnsupportedTokenizer(f"the pattern {splits[0].get('pattern')} of the pre_tokenizer Split is not supported")
