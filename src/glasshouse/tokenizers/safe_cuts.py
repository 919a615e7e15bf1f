"""Where a long text may be cut without changing its tokens; knows nothing of any one vocabulary.

A file larger than memory is encoded part by part. The ids of the parts are those of the whole if each cut falls where
every pattern begins a new piece, whatever surrounds it:

- between a sign that is not whitespace and a blank (whitespace other than a newline);
- between a letter or number and any whitespace;
- between a letter and a sign beyond ASCII that no word may contain, such as a Chinese full stop: some languages have
  no spaces.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from glasshouse.tokenizers.unicode_classes import LETTER, NUMBER, WHITESPACE, WORD, class_bits

BLOCK: Final = 1 << 20
"""Characters in a block of a stream."""


def last_safe_cut(text: str, specials: Iterable[str] = ()) -> int:
    """The largest index, neither the start nor the end, at which `text` may be cut; 0 if there is none.

    More text may follow, so the end itself is never safe. `specials` are special tokens that are not to be cut in two;
    only those in which one of the places above occurs need to be named (`<|endoftext|>` has none).
    """
    marks = [mark for mark in specials if len(mark) > 1]
    cut = _last_boundary(text, len(text) - max((len(mark) - 1 for mark in marks), default=0))
    while cut > 0:
        starts = [text.find(mark, max(0, cut - len(mark) + 1), cut + len(mark) - 1) for mark in marks]
        inside = [start for start in starts if start >= 0]
        if not inside:
            break
        cut = _last_boundary(text, min(inside) + 1)
    return cut


def _last_boundary(text: str, before: int) -> int:
    """The largest safe index less than `before`, special tokens aside."""
    bits = class_bits()
    for index in range(min(before, len(text)) - 1, 0, -1):
        following = bits[ord(text[index])]
        if following & WHITESPACE:
            previous = bits[ord(text[index - 1])]
            newline = text[index] in "\r\n"
            if previous & (LETTER | NUMBER) or not (previous & WHITESPACE or newline):
                return index
        elif not following & WORD and text[index] > "\x7f" and bits[ord(text[index - 1])] & LETTER:
            return index
    return 0


def blocks(chunks: Iterable[str], specials: Iterable[str] = (), size: int = BLOCK) -> Iterator[str]:
    """The text of all chunks in blocks of about `size` characters that can be split on their own.

    Where the blocks end depends on the text alone, not on the chunks.
    """
    buffer, wanted = "", size
    for chunk in chunks:
        buffer += chunk
        start = 0
        while len(buffer) - start >= wanted:
            cut = last_safe_cut(buffer[start : start + wanted], specials)
            if cut:
                yield buffer[start : start + cut]
                start += cut
                wanted = size
            else:
                wanted *= 2
        buffer = buffer[start:]
    if buffer:
        yield buffer
