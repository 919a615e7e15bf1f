"""Any other tokenizer.json, run by the `tokenizers` package that defines it; knows nothing of how our own classes work.

WordPiece, SentencePiece's byte pairs with byte fallback, Unigram, byte pairs with a frame of special tokens: the ids are
the package's, to the letter. What is ours is the reading of its tokens one by one, for text that is written as it comes.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.specs.errors import DataError, GlasshouseError, MissingExtra
from glasshouse.tokenizers.base import END_OF_TEXT, Progress, Tokenizer, encoded
from glasshouse.tokenizers.byte_alphabet import from_letters
from glasshouse.tokenizers.document import UnsupportedTokenizer

ENDS: Final = (END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>", "[EOS]", "<|im_end|>", "<|eot_id|>", "[SEP]")
"""What the world's tokenizers call the end of a text, the surest names first."""

_PROBES: Final = ("a", "the", "A", "1", ".", "é", "中")
_BYTE: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")

Spelling = Callable[[str], bytes]
"""From a token as the file writes it to the bytes it adds to a text."""


@final
class ExternalTokenizer(Tokenizer):
    """A tokenizer that only the `tokenizers` package can follow. Truncation, padding and dropout in the file are left out.

    With `specials=False` the file's special tokens are ordinary text, as far as the package allows: tokens that were added
    to the vocabulary without being special are still found, and so is a special token that the model itself has as a word.

    Written out token by token, a text begins with the space that most such tokenizers put before the first word, and
    WordPiece keeps its spaces before full stops; `decode` leaves them out, as the package does.
    """

    name: ClassVar[str] = "foreign"
    lossless: bool = False

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._contents = dict(document)
        self._marked = self._runner()
        spelling = _spelling(document.get("decoder"), document["model"])
        added = self._marked.get_added_tokens_decoder()
        vocabulary: dict[str, int] = self._marked.get_vocab(with_added_tokens=True)
        tokens: list[bytes | None] = [None] * (1 + max(vocabulary.values(), default=-1))
        for text, id in vocabulary.items():
            tokens[id] = text.encode() if id in added else spelling(text)
        super().__init__(tokens, {token.content: id for id, token in added.items() if token.special})

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        return cls(document)

    @property
    def end_of_text(self) -> int | None:
        """The id of what ends a text, by its usual names: such a file does not say which token it is."""
        return next((self.specials[name] for name in ENDS if name in self.specials), None)

    @property
    def unknown(self) -> int | None:
        model = self._contents["model"]
        if "unk_id" in model:
            return model["unk_id"]
        return self._marked.token_to_id(model["unk_token"]) if model.get("unk_token") else None

    @cached_property
    def frame(self) -> tuple[list[int], list[int]]:
        # Where no letter has a token, a special token written in the text has one.
        for probe in (*_PROBES, *self.specials):
            try:
                found = self._marked.encode(probe, add_special_tokens=True)
            except Exception:  # a vocabulary that lacks this letter and has no token for the unknown
                continue
            own = [place for place, added in enumerate(found.special_tokens_mask) if not added]
            if own:
                return found.ids[: own[0]], found.ids[own[-1] + 1 :]
        return [], []

    def encode(self, text: str, *, specials: bool = True) -> np.ndarray:
        return np.array(self._ids(self._marked if specials else self._unmarked, text), np.int32)

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        runner = self._marked if specials else self._unmarked
        for text in texts:
            encoded(text, "utf-8")
        try:
            found = runner.encode_batch_fast(list(texts), add_special_tokens=False)
        except Exception as error:
            raise DataError("cannot-encode", f"the tokenizer cannot encode these texts: {error}") from None
        return [np.array(each.ids, np.int32) for each in found]

    def decode(self, ids: Iterable[int]) -> str:
        listed = [int(id) for id in ids]
        self._spelled(listed)  # refuses what is not in the vocabulary, which the package would leave out
        text: str = self._marked.decode(listed, skip_special_tokens=False)
        suffix = self._contents["model"].get("end_of_word_suffix")
        # CLIP's file has such a suffix and a decoder that does not know of it.
        return text.replace(suffix, " ").rstrip(" ") if suffix and suffix in text else text

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
        raise GlasshouseError(
            "cannot-train-tokenizer",
            "a foreign tokenizer is used as it is and cannot be trained here; choose byte-pair, words or characters",
        )

    def _encode_ordinary(self, text: str) -> np.ndarray:
        return self.encode(text, specials=False)

    def _document(self) -> dict[str, Any]:
        return self._contents

    @cached_property
    def _unmarked(self) -> Any:
        """The same tokenizer, blind to special tokens in the text: switching the first one would disturb other threads."""
        runner = self._runner()
        runner.encode_special_tokens = True
        return runner

    def _runner(self) -> Any:
        """The package's own tokenizer."""
        try:
            import tokenizers
        except ImportError:
            raise MissingExtra("tokenizers", "a tokenizer.json of this kind") from None
        contents = {**self._contents, "truncation": None, "padding": None}
        if "dropout" in contents["model"]:
            contents["model"] = {**contents["model"], "dropout": None}
        try:
            return tokenizers.Tokenizer.from_str(json.dumps(contents))
        except Exception as error:  # the package raises nothing more special
            raise UnsupportedTokenizer(f"the package tokenizers cannot follow it: {error}") from None

    @staticmethod
    def _ids(runner: Any, text: str) -> list[int]:
        encoded(text, "utf-8")  # half of a surrogate pair is refused as everywhere
        try:
            return runner.encode(text, add_special_tokens=False).ids
        except Exception as error:  # as above; a vocabulary without the unknown token that it needs, say
            raise DataError("cannot-encode", f"the tokenizer cannot encode this text: {error}") from None


def _spelling(decoder: Mapping[str, Any] | None, model: Mapping[str, Any]) -> Spelling:
    """What the decoder of a file makes of one token, but for rules that look at its neighbours."""
    steps = _steps(decoder)
    suffix = model.get("end_of_word_suffix") or ""

    def spell(token: str) -> bytes:
        ends = bool(suffix) and token.endswith(suffix)
        text: str | bytes = token.removesuffix(suffix) if ends else token
        for step in steps:
            if isinstance(text, str):
                text = step(text)
        return (text.encode() if isinstance(text, str) else text) + (b" " if ends else b"")

    return spell


def _steps(decoder: Mapping[str, Any] | None) -> list[Callable[[str], str | bytes]]:
    """The decoder's steps in their order. Once a step gives bytes, the later ones have nothing to do."""
    if decoder is None:
        return [lambda token: " " + token]  # the package joins tokens with spaces
    kind = decoder.get("type")
    if kind == "Sequence":
        return [step for part in decoder["decoders"] for step in _steps(part)]
    if kind == "ByteLevel":
        return [from_letters]
    if kind == "ByteFallback":
        return [lambda token: bytes([int(match[1], 16)]) if (match := _BYTE.fullmatch(token)) else token]
    if kind == "Metaspace":
        return [lambda token: token.replace(decoder.get("replacement", "▁"), " ")]
    if kind == "Replace" and "String" in decoder["pattern"]:
        return [lambda token: token.replace(decoder["pattern"]["String"], decoder["content"])]
    if kind == "WordPiece":
        prefix = decoder.get("prefix", "##")
        return [lambda token: token.removeprefix(prefix) if token.startswith(prefix) else " " + token]
    if kind == "BPEDecoder":
        return [lambda token: token.replace(decoder.get("suffix", "</w>"), " ")]
    return []  # Fuse joins; Strip looks at the ends of the whole text
