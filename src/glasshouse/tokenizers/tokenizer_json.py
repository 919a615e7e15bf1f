"""The parts of a `tokenizer.json` that all our tokenizers share: checking, reading and writing them.

Knows no tokenizer class. `contents` is the parsed JSON of such a file.

Letters stand for bytes in it, so that every token is readable text. Bytes that are printable in Latin-1 stand for
themselves. All others, including the space and the newline, become the letters from U+0100 on, in order: a space is written
Ġ, a newline Ċ. GPT-2 introduced this scheme.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from glasshouse.specs.errors import GlasshouseError

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_NOT_PRINTABLE = [byte for byte in range(256) if byte not in _PRINTABLE]

LETTERS: Final = [chr(byte) for byte in _PRINTABLE] + [chr(0x100 + index) for index in range(len(_NOT_PRINTABLE))]
"""The 256 letters in the order of their code points. The ids of the byte tokens follow this order."""

BYTE_OF_LETTER: Final = dict(zip(LETTERS, [*_PRINTABLE, *_NOT_PRINTABLE], strict=True))
_LETTER_OF_BYTE: Final = {byte: letter for letter, byte in BYTE_OF_LETTER.items()}

BYTE_LEVEL: Final = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_TEXT_ONLY: Final = {"Sequence": {"id": "A", "type_id": 0}}


class UnsupportedTokenizer(GlasshouseError):
    """A tokenizer.json with a setting that our own tokenizers do not support."""


def check_settings(part: str, settings: Mapping[str, Any], ours: Mapping[str, Any], free: Collection[str] = ()) -> None:
    """Raise an error if a part of the file has a setting that we do not know, or a value that is not ours.

    The settings in `free` may have any value. Those that are off in ours may be off in any way: null, 0, false or "".
    """
    for setting, value in settings.items():
        if setting not in ours and setting not in free:
            raise UnsupportedTokenizer(f"{part} has a setting {setting!r} which is not supported")
        if setting not in free and value != ours[setting] and (value or ours[setting]):
            expected = json.dumps(ours[setting])
            raise UnsupportedTokenizer(f"{part} has {setting}={json.dumps(value)}; only {expected} is supported")


def check_parts(contents: Mapping[str, Any], **ours: Any) -> None:
    """Raise an error if a part of the file that would change the ids is not ours. Other parts than `ours` must be absent."""
    for part, expected in {"normalizer": None, "truncation": None, "padding": None, **ours}.items():
        found = contents.get(part)
        if found != expected:
            kind = found.get("type", found) if isinstance(found, dict) else found
            raise UnsupportedTokenizer(f"{part} {kind!r} is not supported")
    # A ByteLevel post-processor changes offsets, not ids. A template is supported if it adds no tokens to a text.
    post_processor = contents.get("post_processor") or BYTE_LEVEL
    if post_processor.get("type") != "ByteLevel" and post_processor.get("single") != [_TEXT_ONLY]:
        raise UnsupportedTokenizer(f"post_processor {post_processor.get('type')!r} is not supported")


def read_special_tokens(contents: Mapping[str, Any], vocabulary: Mapping[str, int]) -> dict[str, int]:
    specials: dict[str, int] = {}
    for added in contents.get("added_tokens") or []:
        text = added["content"]
        for setting, ours in (("single_word", False), ("lstrip", False), ("rstrip", False), ("special", True)):
            if bool(added.get(setting)) != ours:
                found = json.dumps(not ours)
                raise UnsupportedTokenizer(f"the added token {text!r} has {setting}={found}, which is not supported")
        if vocabulary.get(text, added["id"]) != added["id"]:
            raise UnsupportedTokenizer(
                f"the added token {text!r} has id {added['id']}, but the model's vocabulary has {vocabulary[text]}",
            )
        specials[text] = int(added["id"])
    return specials


def split_by(pattern: str, behavior: str = "Isolated") -> dict[str, Any]:
    """The pre-tokenizer that splits a text wherever a regular expression matches."""
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": False}


def build_contents(specials: Mapping[str, int], model: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    """The contents of a file for a model. Parts that are not given are null."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    by_id = sorted(specials.items(), key=lambda item: item[1])
    empty = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, "content": text, **flags} for text, id in by_id],
        **empty,
        **parts,
        "model": model,
    }


def to_letters(token: bytes) -> str:
    return "".join(map(_LETTER_OF_BYTE.__getitem__, token))


def from_letters(letters: str) -> bytes:
    """The bytes of a token. A text with other letters, such as a special token, becomes its UTF-8 bytes."""
    try:
        return bytes(map(BYTE_OF_LETTER.__getitem__, letters))
    except KeyError:
        return letters.encode()
