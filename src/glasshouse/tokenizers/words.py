"""The word tokenizer: every token is a whole word. Knows nothing of bytes or subwords."""

import functools
import re
from collections.abc import Mapping
from typing import Any, ClassVar, final

from glasshouse.tokenizers.unicode_classes import WHITESPACE, WORD, members
from glasshouse.tokenizers.whole_words import WholeWords


@functools.cache
def word_pattern() -> re.Pattern[str]:
    r"""`\w+|[^\w\s]+` with our own character classes. Python's `\w` lacks combining marks and changes with its version."""
    return re.compile(f"[{members(WORD)}]+|[^{members(WORD)}{members(WHITESPACE)}]+")


@final
class Words(WholeWords):
    """A token is a sequence of word characters, or a sequence of characters that are neither word characters nor whitespace.

    Encoding the decoded text gives the same ids again.
    """

    name: ClassVar[str] = "words"
    pre_tokenizer: ClassVar[Mapping[str, Any]] = {"type": "Whitespace"}

    @staticmethod
    def split(text: str) -> list[str]:
        return word_pattern().findall(text)
