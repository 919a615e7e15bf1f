"""Ways to damage bytes, JSON, TOML and safetensors files, and values that nobody expects. Knows nothing of Glasshouse.

Every function takes a `random.Random` first, so that the same seed gives the same damage.
"""

import json
import math
import random
import re
import struct
from collections.abc import Callable
from typing import Any

# Clear the screen, set the title of the window, move the cursor, colour, by one character, bell, backspace, delete.
ESCAPES = ("\x1b[2J", "\x1b]0;title\x07", "\x1b[10;10H", "\x1b[31mred", "\x9b2J", "\x07", "a\rb", "a\x08b", "\x7f", "\x1bc")
PATHS = (
    "../x",
    "../../x",
    "/nowhere/x",
    "/etc/passwd",
    ".",
    "..",
    "/",
    "a/../../b",
    "~/x",
    "C:\\x",
    "//x",
    "/dev/full",
    "\0",
)
TEXTS = (
    *ESCAPES,
    *PATHS,
    "",
    " ",
    "\n",
    "a\nb",
    "\t",
    "a" * 300,
    "a" * 70_000,
    "\ud800",
    "\u202eabc",
    "\ufeff",
    "\U0001f600",
    "e\u0301",
    "%s%n",
    "{0}",
    "{{7*7}}",
    "[bold]a[/bold]",
    "[/]",
    "<script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    "$(touch x)",
    "-",
    "--help",
    "-1",
    "nan",
    "inf",
    "1e999",
    "0x10",
    "9" * 5000,
    "1,2,3",
    "a=b=c",
    "null",
    "True",
    "١٢٣",
    "1_000",
)
NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    7,
    255,
    65536,
    2**31 - 1,
    2**31,
    2**32,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    -(2**63),
    -(2**70),
    10**30,
    10**400,
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    1e-320,
    1e-12,
    1e12,
    1e308,
    -1e308,
    math.inf,
    -math.inf,
    math.nan,
)
MAGIC = (
    b"\x1f\x8b\x08\x00",
    b"PK\x03\x04",
    b"\x80\x04\x95",
    b"GGUF",
    b"\x28\xb5\x2f\xfd",
    b"PAR1",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
)
SURROGATE = re.compile("[\ud800-\udfff]")


def wild_text(rng: random.Random) -> str:
    """A text with something unexpected in it, or one of random characters."""
    draw = rng.random()
    if draw < 0.7:
        return rng.choice(TEXTS)
    if draw < 0.8:
        return "".join(rng.choice(ESCAPES) + rng.choice("abc ") for _ in range(rng.randint(1, 4)))
    return "".join(
        chr(rng.choice((rng.randrange(128), rng.randrange(0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(9)
    )


def wild_number(rng: random.Random) -> float:
    """A number at a limit of some format, or far beyond every use."""
    if rng.random() < 0.7:
        return rng.choice(NUMBERS)
    return rng.choice((1, -1)) * rng.randrange(10 ** rng.randint(1, 25))


def wild_value(rng: random.Random, depth: int = 0) -> Any:
    """A value of any type that JSON has."""
    draw = rng.randrange(12 if depth < 3 else 8)
    if draw < 3:
        return wild_number(rng)
    if draw < 6:
        return wild_text(rng)
    if draw < 8:
        return rng.choice((None, True, False))
    if draw == 8:
        return [wild_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if draw == 9:
        return {wild_text(rng): wild_value(rng, depth + 1) for _ in range(rng.randint(0, 3))}
    if draw == 10:
        return list(range(rng.choice((10, 1000, 100_000))))
    nested: Any = []
    for _ in range(rng.choice((5, 50, 100))):
        nested = [nested] if rng.random() < 0.5 else {"a": nested}
    return nested


def damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one or more faults: cut, altered, moved, with others between them, or others altogether."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        data = rng.choice(BYTE_FAULTS)(rng, data)
    return data


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.choice((0, 1, rng.randint(0, len(data)), max(len(data) - 1, 0), len(data) // 2))]


def _flip(rng: random.Random, data: bytes) -> bytes:
    altered = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 30)) if data else 0):
        altered[rng.randrange(len(altered))] ^= 1 << rng.randrange(8)
    return bytes(altered)


def _replace(rng: random.Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    length = rng.choice((1, 4, 8, 100, 5000))
    return data[:start] + rng.choice((bytes(length), b"\xff" * length, rng.randbytes(length))) + data[start + length :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    text = wild_text(rng).encode("utf-8", "surrogatepass")
    return data[:start] + rng.choice((text, rng.randbytes(20), b"\0", b"\n", b'"', b"[" * 5000)) + data[start:]


def _remove(rng: random.Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start + rng.choice((1, 4, 100, 5000)) :]


def _repeat(rng: random.Random, data: bytes) -> bytes:
    start = rng.randint(0, len(data))
    return data[:start] + data[start : start + rng.choice((1, 10, 1000))] * rng.choice((2, 3, 50)) + data[start:]


def _number(rng: random.Random, data: bytes) -> bytes:
    """An integer of a binary file becomes another."""
    layout, value = rng.choice(
        (("<I", 2**32 - 1), ("<I", 2**31), ("<Q", 2**64 - 1), ("<Q", 2**62), ("<Q", 10**9), ("<I", 10**8))
    )
    place = rng.randrange(max(min(len(data), rng.choice((64, 512, 10**9))), 1)) // 4 * 4
    number = struct.pack(layout, value)
    return data[:place] + number + data[place + len(number) :]


def _stranger(rng: random.Random, data: bytes) -> bytes:
    return rng.choice(
        (b"", rng.choice(MAGIC) + data, rng.choice(MAGIC) + rng.randbytes(60), rng.randbytes(200), bytes(1000))
    )


def _encoding(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("latin-1")
    return rng.choice(
        (text.encode("utf-16"), text.encode("utf-32-le"), data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"))
    )


BYTE_FAULTS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut,
    _flip,
    _flip,
    _replace,
    _insert,
    _insert,
    _remove,
    _repeat,
    _number,
    _stranger,
    _encoding,
)


def damaged_value(rng: random.Random, value: Any) -> Any:
    """A copy of a JSON value with one place altered: another value or type, a missing, renamed or added key."""
    copied = json.loads(json.dumps(value))
    places = list(_places(copied))
    if not places or rng.random() < 0.02:
        return wild_value(rng)
    # Places near the top are few and matter most.
    container, key = rng.choice(places[:40]) if rng.random() < 0.5 else rng.choice(places)
    fault = rng.randrange(10)
    if fault < 6:
        container[key] = wild_value(rng)
    elif fault == 6:
        del container[key]
    elif fault == 7 and isinstance(container, dict):
        container[wild_text(rng)] = container.pop(key)
    elif fault == 8 and isinstance(container, list):
        container[:] = container * rng.choice((0, 2, 30))
    else:
        container[key] = _other_type(container[key])
    return copied


def _places(value: Any) -> Any:
    """Every place of a JSON value, outermost first: its container and its key or index."""
    waiting = [value]
    while waiting:
        container = waiting.pop(0)
        keys = container if isinstance(container, dict) else range(len(container)) if isinstance(container, list) else ()
        for key in list(keys):
            yield container, key
            if isinstance(container[key], dict | list):
                waiting.append(container[key])


def _other_type(value: Any) -> Any:
    """The same content in another type."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool | int | float):
        return str(value)
    if isinstance(value, list):
        return {str(index): item for index, item in enumerate(value)}
    return list(value.items()) if isinstance(value, dict) else 0


def damaged_json(rng: random.Random, data: bytes) -> bytes:
    """A damaged JSON file: one value altered, or some bytes."""
    if rng.random() < 0.3:
        return damaged_bytes(rng, data)
    return json.dumps(damaged_value(rng, json.loads(data))).encode("utf-8", "surrogatepass")


def damaged_json_lines(rng: random.Random, data: bytes) -> bytes:
    """Damaged JSON lines: one value of one line altered, a line twice, or some bytes."""
    lines = data.splitlines()
    if not lines or rng.random() < 0.3:
        return damaged_bytes(rng, data)
    index = rng.randrange(len(lines))
    lines[index] = rng.choice((damaged_json(rng, lines[index]), b"[" * 100_000, lines[0], b"", b"null", b"{}"))
    return b"\n".join(lines) + b"\n"


def damaged_safetensors(rng: random.Random, data: bytes) -> bytes:
    """A damaged file of weights: its header, its numbers (NaN, infinite, zero), or some bytes."""
    length = int.from_bytes(data[:8], "little")
    draw = rng.random()
    if draw < 0.3:
        return damaged_bytes(rng, data)
    header, numbers = json.loads(data[8 : 8 + length]), data[8 + length :]
    if draw < 0.5:
        pattern = rng.choice((b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", bytes(4), b"\xff\xff\x7f\x7f", b"\x01\x00\x00\x00"))
        numbers = (pattern * (len(numbers) // 4 + 1))[: len(numbers)]
    else:
        header = damaged_value(rng, header)
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    return (len(text) if rng.random() < 0.9 else rng.choice((0, 2**62, 10**9))).to_bytes(8, "little") + text + numbers


def toml_value(value: Any) -> str:
    """A value as TOML. What TOML has not (null, surrogates) becomes something that its reader must refuse."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return json.dumps(SURROGATE.sub("?", value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
    return "null"


def damaged_toml(rng: random.Random, data: bytes) -> bytes:
    """A damaged TOML file: the value of one line altered, a line twice or missing, another key, or some bytes."""
    lines = data.decode().splitlines()
    settings = [index for index, line in enumerate(lines) if "=" in line]
    if not settings or rng.random() < 0.25:
        return damaged_bytes(rng, data)
    index = rng.choice(settings)
    name = lines[index].partition("=")[0]
    fault = rng.randrange(10)
    if fault < 7:
        lines[index] = f"{name}= {toml_value(wild_value(rng))}"
    elif fault == 7:
        lines.insert(index, lines[index])
    elif fault == 8:
        lines[index] = f"{toml_value(wild_text(rng))} = {toml_value(wild_value(rng))}"
    else:
        del lines[index]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def damaged_like(rng: random.Random, name: str, data: bytes) -> bytes:
    """Damage that fits a file's name: values of JSON, JSON lines, TOML and safetensors, else bytes."""
    try:
        if name.endswith(".json"):
            return damaged_json(rng, data)
        if name.endswith(".jsonl"):
            return damaged_json_lines(rng, data)
        if name.endswith(".toml"):
            return damaged_toml(rng, data)
        if name.endswith(".safetensors"):
            return damaged_safetensors(rng, data)
    except ValueError:  # The file is no such file.
        pass
    return damaged_bytes(rng, data)
