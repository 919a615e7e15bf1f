"""Positions at which a long text can be divided without changing its tokens. Knows no particular vocabulary.

A text that is larger than memory is encoded in blocks. The ids of the blocks are those of the whole text if every boundary
is at a position where all split patterns start a new piece, whatever the context. These positions are:

- between a character that is not whitespace and a blank (whitespace other than a newline);
- between a letter or a number and any whitespace;
- between a letter and a character outside ASCII that cannot be part of a word, such as a Chinese full stop, since some
  languages have no spaces.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from glasshouse.specs.errors import DataError
from glasshouse.tokenizers.piece_patterns import LETTER, NUMBER, WHITESPACE, WORD, class_bits

BLOCK_CHARACTERS: Final = 1 << 20
"""The size of a block of a stream, in characters."""
LONGEST_BLOCK: Final = 1 << 22
"""A text that cannot be divided within so many characters is refused, since a block is encoded in memory."""


def last_safe_boundary(text: str, specials: Iterable[str] = ()) -> int:
    """The last index at which `text` can be divided, excluding its start and its end; 0 if there is none.

    The end is never safe because more text may follow. `specials` are special tokens that must not be divided. Only those
    that contain one of the positions above need to be listed (`<|endoftext|>` contains none).
    """
    specials = [special for special in specials if len(special) > 1]
    boundary = _last_boundary_before(text, len(text) - max((len(special) - 1 for special in specials), default=0))
    while boundary > 0:
        starts = [
            text.find(special, max(0, boundary - len(special) + 1), boundary + len(special) - 1) for special in specials
        ]
        containing = [start for start in starts if start >= 0]
        if not containing:
            break
        boundary = _last_boundary_before(text, min(containing) + 1)
    return boundary


def _last_boundary_before(text: str, end: int) -> int:
    """The largest safe index less than `end`, ignoring special tokens."""
    bits = class_bits()
    for index in range(min(end, len(text)) - 1, 0, -1):
        following = bits[ord(text[index])]
        if following & WHITESPACE:
            previous = bits[ord(text[index - 1])]
            newline = text[index] in "\r\n"
            if previous & (LETTER | NUMBER) or not (previous & WHITESPACE or newline):
                return index
        elif not following & WORD and text[index] > "\x7f" and bits[ord(text[index - 1])] & LETTER:
            return index
    return 0


def split_into_blocks(chunks: Iterable[str], specials: Iterable[str] = (), size: int = BLOCK_CHARACTERS) -> Iterator[str]:
    """The concatenated text of all chunks in blocks of about `size` characters that can be encoded separately.

    The block boundaries depend only on the text, not on the chunks.
    """
    specials = tuple(specials)
    # A position near the end of what was searched may turn out to be safe when more text is known.
    overlap = 2 * max(map(len, specials), default=1) + 2
    buffer, needed, searched = "", size, 0
    for chunk in chunks:
        buffer += chunk
        start = 0
        while len(buffer) - start >= needed:
            first = start + max(searched - overlap, 0)
            boundary = last_safe_boundary(buffer[first : start + needed], specials)
            if boundary:
                yield buffer[start : first + boundary]
                start = first + boundary
                needed, searched = size, 0
            elif needed >= LONGEST_BLOCK:
                place = f"{needed:,} characters from {buffer[start : start + 20]!r} on have no place to divide them"
                raise DataError(f"{place}; check that the file is text, or insert spaces or line breaks")
            else:
                needed, searched = 2 * needed, needed
        buffer = buffer[start:]
    if buffer:
        yield buffer
