"""Numbers and tokens as people read them: counts, durations, sizes, FLOPs, and whitespace made visible.

Knows nothing of models or pages; the command line, the reports and the logs all write their figures with it.
"""

import math
import unicodedata

NOT_FINITE = "unknown"

# Control characters that have a sign of their own; every other invisible one is spelt as its code point.
VISIBLE = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


def count(number: float) -> str:
    """A count to two or three digits: 999 -> "999", 1_300_000 -> "1.3 M"."""
    return _with_prefix(number, ("", "K", "M", "B", "T"), unit="")


def size(number_of_bytes: float) -> str:
    """Bytes in decimal units, as disks and memory makers count them: 812_000_000 -> "812 MB"."""
    return _with_prefix(number_of_bytes, ("", "k", "M", "G", "T", "P", "E"), unit="B")


def flops(operations: float) -> str:
    """Floating-point operations: 3.2e12 -> "3.2 TFLOP"."""
    return _with_prefix(operations, ("", "k", "M", "G", "T", "P", "E", "Z", "Y"), unit="FLOP")


def duration(seconds: float) -> str:
    """A length of time in at most two units: 0.41 -> "0.41 s", 118 -> "1 min 58 s", 3600 -> "1 h"."""
    if not math.isfinite(seconds):
        return NOT_FINITE
    if seconds < 0:
        return "−" + duration(-seconds)
    if seconds < 59.5:
        return _under_a_minute(seconds)
    # Rounded to whole seconds or minutes before the units are chosen: 3599.7 s is an hour, never "59 min 60 s".
    if round(seconds) < 3600:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 24 * 60:
        return _two_units(round(seconds / 60), 60, "h", "min")
    return _two_units(round(seconds / 3600), 24, "d", "h")


def visible(token: str) -> str:
    """The token with its whitespace and other invisible characters shown: " jobs\\n" -> "·jobs⏎"."""
    return "".join(_visible_character(character) for character in token) or "∅"


def _visible_character(character: str) -> str:
    if character in VISIBLE:
        return VISIBLE[character]
    # Also direction marks and lone surrogates: left raw, they reorder the text around them or cannot be written at all.
    if unicodedata.category(character) in INVISIBLE_CATEGORIES:
        return f"‹U+{ord(character):04X}›"
    return character


def _with_prefix(number: float, prefixes: tuple[str, ...], unit: str) -> str:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        return NOT_FINITE
    if value < 0:
        return "−" + _with_prefix(-value, prefixes, unit)
    power = 0
    # 999.5 would be printed as "1000", so it already belongs to the next prefix.
    while power < len(prefixes) - 1 and value >= 999.5:
        value /= 1000
        power += 1
    digits = f"{value:.0f}" if power == 0 and value == int(value) else _short(value)
    return f"{digits} {prefixes[power]}{unit}".rstrip()


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value:.1e}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _under_a_minute(seconds: float) -> str:
    if seconds == 0:
        return "0 s"
    if seconds < 0.9995e-6:
        return f"{_two_digits(seconds * 1e9)} ns"
    if seconds < 0.9995e-3:
        return f"{_two_digits(seconds * 1e6)} µs"
    if seconds < 0.0995:
        return f"{_two_digits(seconds * 1e3)} ms"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    return f"{_two_digits(seconds)} s"


def _two_units(amount: int, ratio: int, larger: str, smaller: str) -> str:
    whole, rest = divmod(amount, ratio)
    return f"{whole:,} {larger} {rest} {smaller}" if rest else f"{whole:,} {larger}"


def _two_digits(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
