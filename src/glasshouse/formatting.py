"""Numbers and tokens as people read them: counts, durations, sizes, FLOPs, intervals, p-values, visible whitespace.

Knows nothing of models or pages; the command line, the reports and the logs all write their figures with it.
"""

import math
import statistics
import unicodedata
from collections.abc import Iterable

NOT_FINITE = "unknown"
NOTHING = "–"
# Beyond this many decimals powers of ten read better.
MOST_DECIMALS = 6
LARGEST_PLAIN = 1e7
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

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


def decimals(intervals: list[tuple[float, float]]) -> int | None:
    """How many decimals show an interval's half width to two digits; None where there is none to go by."""
    widths = [(high - low) / 2 for low, high in intervals if math.isfinite(high - low) and high > low]
    if not widths:
        return None
    places = 1 - math.floor(math.log10(statistics.median(widths)))
    return max(0, places) if places <= MOST_DECIMALS else None


def number(value: float, places: int | None = None, signed: bool = False) -> str:
    """A figure with so many decimals, or to four digits where `places` is None or the figure is very large."""
    if not math.isfinite(value):
        return NOTHING
    if abs(value) >= LARGEST_PLAIN or (places is None and 0 < abs(value) < 1e-4):
        digits, exponent = f"{abs(value):.3e}".split("e")
        written = f"{digits}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    elif places is None:
        written = f"{abs(value):,.4g}" if abs(value) < 10_000 else f"{abs(value):,.0f}"
    else:
        written = f"{abs(value):,.{places}f}"
    if not any(digit in written for digit in "123456789"):
        return written
    return ("−" if value < 0 else "+" if signed else "") + written


def interval(low: float, high: float, places: int | None, signed: bool = False) -> str:
    """ "2.12 to 2.15", or nothing where one seed alone gives none."""
    if not math.isfinite(low) or not math.isfinite(high):
        return ""
    return f"{number(low, places, signed)} to {number(high, places, signed)}"


def p_value(value: float) -> str:
    """A p-value to two digits."""
    if not math.isfinite(value):
        return NOTHING
    if value < 0.0001:
        return "< 0.0001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def listed(items: Iterable[object]) -> str:
    """ "a, b and c"."""
    words = [str(item) for item in items]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def short_number(value: float) -> str:
    """A tick or a figure as short as it stays exact to four digits: 0.25, 1500, "20 K", "3×10⁻⁵"."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if 10_000 <= magnitude < 1e15:
        return count(value).replace(".0 ", " ")
    if 1e-4 <= magnitude < 10_000:
        return f"{value:.4g}".replace("-", "−")
    digits, exponent = f"{value:.2e}".split("e")
    digits = digits.rstrip("0").rstrip(".").replace("-", "−")
    return f"{digits}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def rounded(value: float, uncertainty: float) -> str:
    """A figure with as many decimals as its uncertainty deserves: two digits of that."""
    scale = uncertainty if 0 < uncertainty < math.inf else abs(value) / 10
    decimals = 1 - math.floor(math.log10(scale)) if 0 < scale < math.inf else 0
    if not -6 < decimals < 8:
        return f"{value:.3g}"
    return f"{round(value, max(decimals, 0)) + 0.0:.{max(decimals, 0)}f}"


def percentage(probability: float) -> str:
    """A probability in percent to three digits at most: 0.312 -> "31.2 %", 0.00004 -> "0.004 %"."""
    hundredfold = probability * 100
    if hundredfold >= 99.95:
        return "100 %" if probability == 1 else "over 99.9 %"
    if hundredfold >= 1:
        return f"{hundredfold:.1f} %"
    if hundredfold >= 0.001:
        return f"{float(f'{hundredfold:.2g}'):.6f}".rstrip("0").rstrip(".") + " %"
    return "0 %" if probability == 0 else "under 0.001 %"


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
