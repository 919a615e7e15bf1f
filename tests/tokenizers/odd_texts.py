"""Texts that are hard to split, for hypothesis; and plain ones to train on. There is no `__init__.py` here on purpose:
a package called `tokenizers` would hide the one that these tests compare with."""

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import strategies

MARK = "<|endoftext|>"

PARTS = [
    *"aZé ſßİ你。١²½Ⅻ1234567890'’!?-_@<|>.,()\"\t\n\r\v\f\x1c\x85\x00",
    *("'s", "'S", "'ll", "'Ll", "'re", "'VE", "'ſ", "'d", "I'm", "can't", " '", "''"),
    *("  ", "   ", "\r\n", "\n\n", " \n", "\n ", "\t\t", "\u00a0", "\u2003", "\u2028", "\u3000", "\u200b", "\ufeff"),
    *(
        "e\u0301",
        "\u0301",
        "👩\u200d👩\u200d👧",
        "🇫🇷",
        "नमस्ते",
        "สวัสดี",
        "Ελληνικά",
        "русский",
        "ﷺ",
        "\U00010400",
        "\U000e0001",
    ),
    *(
        "the",
        " the",
        " International",
        "internationalisation",
        "antidisestablishmentarianism",
        "x" * 60,
        " " * 40,
        "=" * 33,
    ),
    *(MARK, "<unk>", "<|endof", "text|>", "<|endoftext|"),
]

texts = strategies.one_of(
    strategies.text(),
    strategies.lists(strategies.sampled_from(PARTS), max_size=60).map("".join),
    strategies.lists(strategies.one_of(strategies.sampled_from(PARTS), strategies.text(max_size=5)), max_size=40).map(
        "".join
    ),
)
"""Any text without lone surrogates, with more than a fair share of what patterns disagree about."""

PROSE = (
    "It was the best of times, it was the worst of times; it was the age of wisdom, it wasn't the age of foolishness.\n"
    "We've 12345 reasons, they'll have 1,000 — don't YOU'RE   all agree?\n\n  Café, naïve, Straße, 你好。世界！ e\u0301 😀\n"
    "aaaa aaab abab abcabc bcabca the then there these those within without thereby whereby\t\tinternationalisation\r\n"
) * 3


def wikitext(part: str) -> str:
    """A part of WikiText-2 from the folder that GLASSHOUSE_DATA names; without it the test is skipped."""
    folder = os.environ.get("GLASSHOUSE_DATA")
    path = Path(folder or "", "wikitext2", f"wiki.{part}.tokens.gz")
    if not folder or not path.exists():
        pytest.skip("GLASSHOUSE_DATA does not name a folder with wikitext2/ in it")
    return gzip.decompress(path.read_bytes()).decode("utf-8")
