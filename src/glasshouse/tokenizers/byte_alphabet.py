"""How `tokenizer.json` writes bytes as letters, so that any token is readable JSON; knows nothing of tokens' meaning.

Bytes that print in Latin-1 stand for themselves. The others, among them the space and the newline, become the letters
from U+0100 on, in order: a space is written Ġ, a newline Ċ. The scheme is GPT-2's.
"""

from typing import Final

_PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]

LETTERS: Final = [chr(byte) for byte in _PRINTABLE] + [chr(0x100 + index) for index in range(len(_HIDDEN))]
"""The 256 letters, in alphabetical order: the order of the bytes' ids."""

BYTE_OF_LETTER: Final = dict(zip(LETTERS, [*_PRINTABLE, *_HIDDEN], strict=True))
_LETTER_OF_BYTE: Final = {byte: letter for letter, byte in BYTE_OF_LETTER.items()}


def to_letters(token: bytes) -> str:
    """A token's bytes as the file writes them."""
    return "".join(map(_LETTER_OF_BYTE.__getitem__, token))


def from_letters(letters: str) -> bytes:
    """A token's bytes. What is not written in these letters stands for itself, as special tokens do."""
    try:
        return bytes(map(BYTE_OF_LETTER.__getitem__, letters))
    except KeyError:
        return letters.encode()
