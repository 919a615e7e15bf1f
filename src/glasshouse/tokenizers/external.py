"""Tokenizers from any other tokenizer.json, run by the `tokenizers` package. Knows nothing of our own tokenizer classes.

This covers WordPiece, SentencePiece's byte-pair encoding with byte fallback, Unigram, and byte-pair encoding with start and
end tokens. The ids are exactly those of the package. The bytes of single tokens are computed here, so that generated text
can be written token by token.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Self, final

import numpy as np

from glasshouse.specs.errors import DataError, MissingExtra
from glasshouse.tokenizers.base import END_OF_TEXT, Tokenizer, encode_unicode
from glasshouse.tokenizers.tokenizer_json import UnsupportedTokenizer, from_letters

END_TOKENS: Final = (END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>", "[EOS]", "<|im_end|>", "<|eot_id|>", "[SEP]")
"""The names of end-of-text tokens, most reliable first."""

_PROBE_TEXTS: Final = ("a", "the", "A", "1", ".", "é", "中")
_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@final
class ExternalTokenizer(Tokenizer):
    """A tokenizer that the `tokenizers` package runs. Truncation, padding and dropout settings of the file are ignored.

    With `specials=False`, special tokens are ordinary text as far as the package allows it. Added tokens that are not
    special are still recognised, and so is a special token that is also in the model's own vocabulary.

    Text written token by token starts with the space that most of these tokenizers put before the first word, and WordPiece
    keeps spaces before full stops. `decode` omits these spaces, as the package does.
    """

    name: ClassVar[str] = "foreign"

    def __init__(self, contents: Mapping[str, Any]) -> None:
        self._contents = dict(contents)
        self._with_specials = self._build_tokenizer()
        decode_token = _token_decoder(contents.get("decoder"), contents["model"])
        added = self._with_specials.get_added_tokens_decoder()
        vocabulary: dict[str, int] = self._with_specials.get_vocab(with_added_tokens=True)
        tokens: list[bytes | None] = [None] * (1 + max(vocabulary.values(), default=-1))
        for text, id in vocabulary.items():
            tokens[id] = text.encode() if id in added else decode_token(text)
        super().__init__(tokens, {token.content: id for id, token in added.items() if token.special})

    @classmethod
    def from_json(cls, contents: Mapping[str, Any]) -> Self:
        return cls(contents)

    @property
    def end_of_text(self) -> int | None:
        """The id of the end-of-text token. The file does not state which token this is, so it is found by its name."""
        return next((self.specials[name] for name in END_TOKENS if name in self.specials), None)

    @property
    def unknown(self) -> int | None:
        model = self._contents["model"]
        if "unk_id" in model:
            return model["unk_id"]
        return self._with_specials.token_to_id(model["unk_token"]) if model.get("unk_token") else None

    def _encoded(self, probes: Iterable[tuple[str, ...]]) -> Iterator[Any]:
        """Texts or pairs as the package encodes them, with start and end tokens.

        Texts are left out that the vocabulary lacks, if it has no unknown token.
        """
        for texts in probes:
            try:
                yield _call("encode this text", self._with_specials.encode, *texts, add_special_tokens=True)
            except DataError:
                continue

    @cached_property
    def prefix_and_suffix(self) -> tuple[list[int], list[int]]:
        # If the vocabulary has none of the probe texts, the text of a special token still has an id.
        for encoding in self._encoded((probe,) for probe in (*_PROBE_TEXTS, *self.specials)):
            text_positions = [index for index, added in enumerate(encoding.special_tokens_mask) if not added]
            if text_positions:
                return encoding.ids[: text_positions[0]], encoding.ids[text_positions[-1] + 1 :]
        return [], []

    @cached_property
    def pair_separator(self) -> list[int]:
        for encoding in self._encoded((probe, probe) for probe in _PROBE_TEXTS):
            texts = list(zip(encoding.sequence_ids, encoding.special_tokens_mask, strict=True))
            first, second = ([index for index, text in enumerate(texts) if text == (number, 0)] for number in (0, 1))
            if first and second and encoding.ids[first[-1] + 1 : second[0]]:
                return encoding.ids[first[-1] + 1 : second[0]]
        return super().pair_separator

    def encode(self, text: str, *, specials: bool = True) -> np.ndarray:
        encode_unicode(text, "utf-8")  # raises our own error for a lone surrogate
        tokenizer = self._with_specials if specials else self._without_specials
        return np.array(_call("encode this text", tokenizer.encode, text, add_special_tokens=False).ids, np.int32)

    def encode_batch(self, texts: Sequence[str], *, specials: bool = True) -> list[np.ndarray]:
        for text in texts:
            encode_unicode(text, "utf-8")
        tokenizer = self._with_specials if specials else self._without_specials
        encodings = _call("encode these texts", tokenizer.encode_batch_fast, list(texts), add_special_tokens=False)
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        listed = [int(id) for id in ids]
        self._tokens_of(listed)  # raises an error for an unknown id, which the package would ignore
        text: str = _call("decode these tokens", self._with_specials.decode, listed, skip_special_tokens=False)
        suffix = self._contents["model"].get("end_of_word_suffix")
        # CLIP's file has an end-of-word suffix, but its decoder does not remove it.
        return text.replace(suffix, " ").rstrip(" ") if suffix and suffix in text else text

    def _encode_ordinary(self, text: str) -> np.ndarray:
        return self.encode(text, specials=False)

    def _to_json(self) -> dict[str, Any]:
        return self._contents

    @cached_property
    def _without_specials(self) -> Any:
        """A second instance that treats special tokens as text. Changing the first one would affect other threads."""
        tokenizer = self._build_tokenizer()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def _build_tokenizer(self) -> Any:
        try:
            import tokenizers
        except ImportError:
            raise MissingExtra("tokenizers", "a tokenizer.json of this kind") from None
        contents = {**self._contents, "truncation": None, "padding": None}
        if "dropout" in contents["model"]:
            contents["model"] = {**contents["model"], "dropout": None}
        try:
            return _call("be read", tokenizers.Tokenizer.from_str, json.dumps(contents))
        except DataError as error:
            raise UnsupportedTokenizer(str(error)) from None


def _call(purpose: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a function of the package, which raises plain `Exception`, for example for a text without a token.

    Its Rust code may stop with a panic at something that it took for granted. A panic is no `Exception`.
    """
    try:
        return function(*arguments, **options)
    except Exception as error:
        raise DataError(f"the tokenizer cannot {purpose} with the package 'tokenizers': {error}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise UnsupportedTokenizer(
            f"the package 'tokenizers' failed on this file: {error}; save the tokenizer again"
        ) from None


def _token_decoder(decoder: Mapping[str, Any] | None, model: Mapping[str, Any]) -> Callable[[str], bytes]:
    """From a token as written in the file to the bytes that it adds to a text.

    It decodes as the file's decoder does, except for rules that depend on neighbouring tokens.
    """
    steps = _decoder_steps(decoder)
    suffix = model.get("end_of_word_suffix") or ""

    def decode_token(token: str) -> bytes:
        ends_word = bool(suffix) and token.endswith(suffix)
        text: str | bytes = token.removesuffix(suffix) if ends_word else token
        for step in steps:
            if isinstance(text, str):
                text = step(text)
        return (text.encode() if isinstance(text, str) else text) + (b" " if ends_word else b"")

    return decode_token


def _decoder_steps(decoder: Mapping[str, Any] | None) -> list[Callable[[str], str | bytes]]:
    """The steps of a decoder in order. After a step has returned bytes, the remaining steps are skipped."""
    if decoder is None:
        return [lambda token: " " + token]  # Without a decoder, the package joins tokens with spaces.
    kind = decoder.get("type")
    if kind == "Sequence":
        return [step for part in decoder["decoders"] for step in _decoder_steps(part)]
    if kind == "ByteLevel":
        return [from_letters]
    if kind == "ByteFallback":
        return [lambda token: bytes([int(match[1], 16)]) if (match := _BYTE_TOKEN.fullmatch(token)) else token]
    if kind == "Metaspace":
        return [lambda token: token.replace(decoder.get("replacement", "▁"), " ")]
    if kind == "Replace" and "String" in decoder["pattern"]:
        return [lambda token: token.replace(decoder["pattern"]["String"], decoder["content"])]
    if kind == "WordPiece":
        prefix = decoder.get("prefix", "##")
        return [lambda token: token.removeprefix(prefix) if token.startswith(prefix) else " " + token]
    if kind == "BPEDecoder":
        return [lambda token: token.replace(decoder.get("suffix", "</w>"), " ")]
    return []  # Fuse and Strip depend on the whole text.
