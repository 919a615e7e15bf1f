"""Functions that format numbers and tokens for a reader: counts, durations, sizes, intervals, p-values, whitespace.

The command line, the reports and the logs use these functions. The module knows nothing of models or pages.
"""

import math
import statistics
import time
import unicodedata
from collections.abc import Iterable

# Text for a number that is NaN or infinite.
UNKNOWN = "unknown"
# Text for a table cell without a value.
MISSING = "–"
# A number that needs more decimals than this is written with a power of ten.
MOST_DECIMALS = 6
# A larger number is written with a power of ten.
LARGEST_PLAIN = 1e7
# A larger value is treated like infinity: it means divergence, and arithmetic on it could overflow.
LARGEST_DRAWABLE = 1e100
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

# Symbols for common invisible characters; every other invisible character is written as its code point.
VISIBLE = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
# Marks that change the direction of the text around them, so that a line shows its words in another order.
DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
# Control characters that a terminal would obey, and the sign of each; those from 128 on are written as their code. So are
# marks of direction, and halves of surrogate pairs (bytes of a command line that are no UTF-8), which cannot be written.
CONTROLS = {
    **{number: chr(0x2400 + number) for number in range(32) if chr(number) not in "\n\t"},
    127: "\u2421",
    **{number: f"\\x{number:02x}" for number in range(128, 160)},
    **{number: f"\\u{number:04x}" for number in (*DIRECTIONS, *range(0xD800, 0xE000))},
}
INVISIBLE_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}


def without_controls(text: str) -> str:
    """A text with signs in place of the control characters that could change a terminal. Lines and tabs stay."""
    return text.translate(CONTROLS)


def one_line(text: str, most: int = 2000) -> str:
    """A text on one line, without control characters; the middle of a very long one is left out."""
    line = " ".join(without_controls(text).splitlines())
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-most // 2 :]}"


def count(number: float) -> str:
    """Format a count with two or three digits: 999 -> "999", 1_300_000 -> "1.3 M"."""
    return _with_prefix(number, ("", "K", "M", "B", "T"), unit="")


def size(number_of_bytes: float) -> str:
    """Format bytes in decimal units (1 kB is 1000 bytes): 812_000_000 -> "812 MB"."""
    return _with_prefix(number_of_bytes, ("", "k", "M", "G", "T", "P", "E"), unit="B")


def flops(operations: float) -> str:
    """Format a number of floating-point operations: 3.2e12 -> "3.2 TFLOP"."""
    return _with_prefix(operations, ("", "k", "M", "G", "T", "P", "E", "Z", "Y"), unit="FLOP")


def duration(seconds: float) -> str:
    """Format a duration in at most two units: 0.41 -> "0.41 s", 118 -> "1 min 58 s", 3600 -> "1 h"."""
    if not math.isfinite(seconds):
        return UNKNOWN
    if seconds < 0:
        return "−" + duration(-seconds)
    if seconds < 59.5:
        return _under_a_minute(seconds)
    # The value is rounded before the units are chosen: 3599.7 s becomes "1 h", not "59 min 60 s".
    if round(seconds) < 3600:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / 60) < 24 * 60:
        return _two_units(round(seconds / 60), 60, "h", "min")
    return _two_units(round(seconds / 3600), 24, "d", "h")


def utc(seconds: float) -> str:
    """A time in UTC: "2026-05-31 14:05 UTC"; the empty string if it is not valid."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds)) if 0 < seconds < 253402300800 else ""


def visible(token: str) -> str:
    """Replace invisible characters by symbols: " jobs\\n" -> "·jobs⏎"."""
    return "".join(_visible_character(character) for character in token) or "∅"


def decimals(intervals: list[tuple[float, float]]) -> int | None:
    """The number of decimals that shows the median half width of these intervals with two digits.

    None if no interval has a finite width above zero, or if more than `MOST_DECIMALS` would be needed.
    """
    widths = [(high - low) / 2 for low, high in intervals if math.isfinite(high - low) and high > low]
    if not widths:
        return None
    places = 1 - math.floor(math.log10(statistics.median(widths)))
    return max(0, places) if places <= MOST_DECIMALS else None


def number(value: float, places: int | None = None, signed: bool = False) -> str:
    """Format a number with `places` decimals; without `places`, or if it is very large, with four significant digits."""
    if not math.isfinite(value):
        return MISSING
    if abs(value) >= LARGEST_PLAIN or (places is None and 0 < abs(value) < 1e-4):
        digits, exponent = f"{abs(value):.3e}".split("e")
        text = f"{digits}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    elif places is None:
        text = f"{abs(value):,.4g}" if abs(value) < 10_000 else f"{abs(value):,.0f}"
    else:
        text = f"{abs(value):,.{places}f}"
    # A value that is rounded to zero has no sign.
    if not any(digit in text for digit in "123456789"):
        return text
    return ("−" if value < 0 else "+" if signed else "") + text


def formatted(value: float, number_format: str) -> str:
    """The value in a format such as "{:.2f}", unless it is very large: then as by `number`."""
    return number(value) if LARGEST_PLAIN <= abs(value) < math.inf else number_format.format(value)


def interval(low: float, high: float, places: int | None, signed: bool = False) -> str:
    """Format an interval as "2.12 to 2.15"; the empty string if an end is not finite, as with a single seed."""
    if not math.isfinite(low) or not math.isfinite(high):
        return ""
    return f"{number(low, places, signed)} to {number(high, places, signed)}"


def p_value(value: float) -> str:
    """Format a p-value with two digits; values below 0.0001 become "< 0.0001"."""
    if not math.isfinite(value):
        return MISSING
    if value < 0.0001:
        return "< 0.0001"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def read_count(text: str) -> int | None:
    """The whole number that a text of digits is; None for any other text, and for more digits than a count has."""
    return int(text) if len(text) <= 18 and text.isascii() and text.isdigit() else None


def about(amount: int) -> str:
    """A number that is a rough guess, with one significant digit: "2,000" for 1,788."""
    return f"{round(amount, 1 - len(str(amount))):,}"


def percent(share: float) -> str:
    """Format a share as a percentage with at most four digits: 0.95 -> "95 %"."""
    return f"{100 * share:.4g} %"


def join_with_and(items: Iterable[object]) -> str:
    """Join items as in a sentence: "a, b and c"."""
    words = [str(item) for item in items]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def with_article(noun: str) -> str:
    """A noun with "a" or "an" before it: "a trigram", "an 8-gram", "an 11-gram", "an integer"."""
    digits = noun[: len(noun) - len(noun.lstrip("0123456789,"))].replace(",", "")
    # Eight, eighty, eight hundred, ...; eleven and eighteen, also of thousands or millions.
    spoken_with_vowel = digits.startswith("8") or (len(digits) % 3 == 2 and digits.startswith(("11", "18")))
    return f"{'an' if spoken_with_vowel or noun.startswith(tuple('aeioAEIO')) else 'a'} {noun}"


def short_number(value: float) -> str:
    """Format a number in as few characters as possible, for an axis tick: "0.25", "1500", "20 K", "3×10⁻⁵", "10⁻⁶"."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    if 10_000 <= magnitude < 1e15:
        return count(value).replace(".0 ", " ")
    if 1e-4 <= magnitude < 10_000:
        return f"{value:.4g}".replace("-", "−")
    digits, exponent = f"{value:.2e}".split("e")
    digits = digits.rstrip("0").rstrip(".").replace("-", "−")
    power = f"10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    return power if digits == "1" else f"{digits}×{power}"


def rounded(value: float, uncertainty: float) -> str:
    """Format a value with as many decimals as show its uncertainty with two digits."""
    scale = uncertainty if 0 < uncertainty < math.inf else abs(value) / 10
    places = 1 - math.floor(math.log10(scale)) if 0 < scale < math.inf else 0
    if not -6 < places < 8:
        return f"{value:.3g}"
    # Adding zero turns "-0.0" into "0.0".
    return f"{round(value, max(places, 0)) + 0.0:.{max(places, 0)}f}"


def probability(value: float) -> str:
    """Format a probability as a percentage with at most three digits: 0.312 -> "31.2 %", 0.00004 -> "0.004 %"."""
    percentage = value * 100
    if percentage >= 99.95:
        return "100 %" if value == 1 else "over 99.9 %"
    if percentage >= 1:
        return f"{percentage:.1f} %"
    if percentage >= 0.001:
        return f"{float(f'{percentage:.2g}'):.6f}".rstrip("0").rstrip(".") + " %"
    return "0 %" if value == 0 else "under 0.001 %"


def _visible_character(character: str) -> str:
    if character in VISIBLE:
        return VISIBLE[character]
    # These include direction marks, which reorder the text around them, and lone surrogates, which UTF-8 cannot encode.
    if unicodedata.category(character) in INVISIBLE_CATEGORIES:
        return f"‹U+{ord(character):04X}›"
    return character


def _with_prefix(number: float, prefixes: tuple[str, ...], unit: str) -> str:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        return UNKNOWN
    if value < 0:
        return "−" + _with_prefix(-value, prefixes, unit)
    power = 0
    # 999.5 rounds to "1000", so it gets the next prefix.
    while power < len(prefixes) - 1 and value >= 999.5:
        value /= 1000
        power += 1
    digits = f"{value:.0f}" if power == 0 and value == int(value) else _three_digits(value)
    return f"{digits} {prefixes[power]}{unit}".rstrip()


def _three_digits(value: float) -> str:
    if value >= 1e6:
        return f"{value:.1e}"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _under_a_minute(seconds: float) -> str:
    if seconds == 0:
        return "0 s"
    for limit, unit, units in ((0.9995e-6, "ns", 1e9), (0.9995e-3, "µs", 1e6), (0.0995, "ms", 1e3)):
        if seconds < limit:
            return f"{_two_digits(seconds * units)} {unit}"
    if seconds < 0.995:
        return f"{seconds:.2f} s"
    return f"{_two_digits(seconds)} s"


def _two_units(amount: int, ratio: int, larger: str, smaller: str) -> str:
    whole, rest = divmod(amount, ratio)
    return f"{whole:,} {larger} {rest} {smaller}" if rest else f"{whole:,} {larger}"


def _two_digits(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
