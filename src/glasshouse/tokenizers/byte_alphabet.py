"""The letters that stand for bytes in a `tokenizer.json`, so that every token is readable JSON text.

Bytes that are printable in Latin-1 stand for themselves. All others, including the space and the newline, become the letters
from U+0100 on, in order: a space is written Ġ, a newline Ċ. GPT-2 introduced this scheme.
"""

from typing import Final

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_NOT_PRINTABLE = [byte for byte in range(256) if byte not in _PRINTABLE]

LETTERS: Final = [chr(byte) for byte in _PRINTABLE] + [chr(0x100 + index) for index in range(len(_NOT_PRINTABLE))]
"""The 256 letters in the order of their code points. The ids of the byte tokens follow this order."""

BYTE_OF_LETTER: Final = dict(zip(LETTERS, [*_PRINTABLE, *_NOT_PRINTABLE], strict=True))
_LETTER_OF_BYTE: Final = {byte: letter for letter, byte in BYTE_OF_LETTER.items()}


def to_letters(token: bytes) -> str:
    """The letters that stand for the bytes of a token."""
    return "".join(map(_LETTER_OF_BYTE.__getitem__, token))


def from_letters(letters: str) -> bytes:
    """The bytes of a token. A text with other letters, such as a special token, becomes its UTF-8 bytes."""
    try:
        return bytes(map(BYTE_OF_LETTER.__getitem__, letters))
    except KeyError:
        return letters.encode()
