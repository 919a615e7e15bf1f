r"""The Penn Treebank word tokenizer: `don't stop.` becomes `do n't stop .`. Knows nothing of bytes or subwords.

The rules follow the Penn Treebank's tokenizer (MacIntyre 1995), with the typographic quotes, asterisks and ellipses of
NLTK's `word_tokenize` up to version 3.9.2. A line is a sentence, as the Treebank expects: only a period that ends a line is
a token. Every other period stays with its word (`Mr.`, `3.5`).

Each rule is a regular expression that both Python and the `tokenizers` package run. So the characters of a class are listed:
`\w` and `\s` differ between the two.
"""

import functools
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, final

from glasshouse.tokenizers.tokenizer_json import split_by
from glasshouse.tokenizers.words import WordLevel

BLANKS: Final = r"\t\x0b\x0c\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The whitespace characters other than a newline."""

_LINE_END: Final = r"(?![^\n])"
_END: Final = r"(?![\s\S])"

# A straight double quote (or two apostrophes) opens a quotation at the start of a line, after whitespace and after a bracket
# that opens. Everywhere else it closes one. The Treebank writes the two in this way.
_QUOTES: Final = {rf"""(?<![^\n{BLANKS}(\[{{<])(?:"|'')""": " `` ", """"|''""": " '' "}

# Tokens wherever they stand.
_MARKS: Final = "|".join(
    (
        rf"(?<=[^.])\.(?=[\])}}>'»”’{BLANKS}]*{_LINE_END})",  # the period of a sentence, before closing quotes and brackets
        r"\.{2,}",
        r"[:,](?![0-9])",  # not within 3,000 and 10:30
        r"[;@#$%&?!*()\[\]{}<>«»„“”‘’]",
        r"--|``|`",
        r"'(?=[0-9A-Za-z](?![0-9A-Za-z_]))(?![DMNSTdmnst])",  # an opening quote before a short word: 'I think'
    )
)

# What ends a word and is a token of its own: 's, 'm, 'd, 'll, 're, 've, n't, and the apostrophe of a plural.
_CLITICS: Final = rf"(?<=[^'])(?:'(?:[DMSdms]|ll|LL|re|RE|ve|VE)?|n't|N'T){_END}"

_CONTRACTIONS: Final = ("can not", "d 'ye", "gim me", "gon na", "got ta", "lem me", "more 'n", "'t is", "'t was", "wan na")


def _any_case(letters: str) -> str:
    """A regular expression for letters of either case. `(?i)` has another meaning outside ASCII in each engine."""
    return "".join(f"[{letter.upper()}{letter}]" if letter.isalpha() else letter for letter in letters)


def _second_half(contraction: str) -> str:
    """The second half of a contraction that is a whole word."""
    first, second = map(_any_case, contraction.split())
    return rf"(?<=\A{first}){second}{_END}"


# Both divide a single word into two.
_DIVISIONS: Final = (_CLITICS, "|".join(map(_second_half, _CONTRACTIONS)))

_QUOTE_RULES: Final = tuple((re.compile(pattern), replacement) for pattern, replacement in _QUOTES.items())
_MARK_PATTERN: Final = re.compile(_MARKS)
_WORD_PATTERN: Final = re.compile(rf"[^\n{BLANKS}]+")
_CLITIC_PATTERN, _CONTRACTION_PATTERN = map(re.compile, _DIVISIONS)


@functools.lru_cache(maxsize=1 << 16)
def _divide(word: str) -> tuple[str, ...]:
    """A word without its clitic, in two halves if it is a contraction, then the clitic."""
    rest, *clitic = _bisect(_CLITIC_PATTERN, word)
    return *_bisect(_CONTRACTION_PATTERN, rest), *clitic


def _bisect(pattern: re.Pattern[str], word: str) -> list[str]:
    """A word divided where the pattern matches up to its end, or the word alone."""
    match = pattern.search(word)
    return [word[: match.start()], match[0]] if match else [word]


@final
class TreebankWords(WordLevel):
    """A token is a word, a punctuation mark or a clitic.

    Encoding the decoded text may give other ids, since quotes are then surrounded by spaces. A document of more than a block
    (`safe_boundaries`) may be divided within a line; a period at that place is then a token.
    """

    name: ClassVar[str] = "treebank-words"
    separator: ClassVar[str] = "\n"
    normalizer: ClassVar[Mapping[str, Any]] = {
        "type": "Sequence",
        "normalizers": [
            {"type": "Replace", "pattern": {"Regex": pattern}, "content": replacement}
            for pattern, replacement in _QUOTES.items()
        ],
    }
    pre_tokenizer: ClassVar[Mapping[str, Any]] = {
        "type": "Sequence",
        "pretokenizers": [
            split_by(_MARKS),
            split_by(rf"[\n{BLANKS}]+", "Removed"),
            *(split_by(division) for division in _DIVISIONS),
        ],
    }

    @staticmethod
    def split(text: str) -> list[str]:
        for pattern, replacement in _QUOTE_RULES:
            text = pattern.sub(replacement, text)
        return [part for word in _WORD_PATTERN.findall(_MARK_PATTERN.sub(r" \g<0> ", text)) for part in _divide(word)]
