"""Texts that are difficult to split, as hypothesis strategies, and ordinary texts for training."""

import gzip

from hypothesis import strategies

from tests import needs

END_OF_TEXT = "<|endoftext|>"

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
    *(END_OF_TEXT, "<unk>", "<|endof", "text|>", "<|endoftext|"),
]

texts = strategies.one_of(
    strategies.text(),
    strategies.lists(strategies.sampled_from(PARTS), max_size=60).map("".join),
    strategies.lists(strategies.one_of(strategies.sampled_from(PARTS), strategies.text(max_size=5)), max_size=40).map(
        "".join
    ),
)
"""Any text without lone surrogates, with many of the characters on which split patterns differ."""

PROSE = (
    "It was the best of times, it was the worst of times; it was the age of wisdom, it wasn't the age of foolishness.\n"
    "We've 12345 reasons, they'll have 1,000 — don't YOU'RE   all agree?\n\n  Café, naïve, Straße, 你好。世界！ e\u0301 😀\n"
    "aaaa aaab abab abcabc bcabca the then there these those within without thereby whereby\t\tinternationalisation\r\n"
) * 3


def wikitext(split: str) -> str:
    """A split of WikiText-2 from the folder GLASSHOUSE_DATA. If it is not there, the test is skipped."""
    return gzip.decompress(needs.data(f"wikitext2/wiki.{split}.tokens.gz").read_bytes()).decode("utf-8")
