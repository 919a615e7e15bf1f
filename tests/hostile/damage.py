"""Damage of kept files: of their bytes, and of one value of their JSON. hypothesis chooses what and where."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

DEEP: Any = 0
for _ in range(400):
    DEEP = [DEEP]
DELETED = object()
VALUES = [
    None,
    "x",
    "",
    [],
    {},
    [1],
    {"a": [None]},
    -1,
    0,
    True,
    0.5,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    10**30,
    10**400,
    "y" * 5000,
    "../victim",
    "a\x1b[2J\0b",
    DEEP,
    DELETED,
]


def places(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values in a JSON value, itself included."""
    yield at
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, entry in entries:
        yield from places(entry, (*at, name))


def replaced(value: Any, at: tuple[str | int, ...], new: Any) -> Any:
    """The JSON value with another value at a path, or without it."""
    if not at:
        return None if new is DELETED else new
    changed = copy.deepcopy(value)
    inner = changed
    for name in at[:-1]:
        inner = inner[name]
    if new is DELETED:
        del inner[at[-1]]
    else:
        inner[at[-1]] = new
    return changed


def damaged_bytes(content: bytes) -> st.SearchStrategy[bytes]:
    """The content cut off, with a flipped bit, or with bytes put in."""
    place = st.integers(0, len(content))
    inserted = st.sampled_from([b"\0", b"\xff", b'"', b"[", b"{", b"9" * 5000, b"[" * 100_000])
    cut = place.map(lambda at: content[:at])
    flipped = st.tuples(st.integers(0, max(len(content) - 1, 0)), st.integers(0, 7)).map(
        lambda chosen: content[: chosen[0]] + bytes([content[chosen[0]] ^ 1 << chosen[1]]) + content[chosen[0] + 1 :]
    )
    more = st.tuples(place, inserted).map(lambda chosen: content[: chosen[0]] + chosen[1] + content[chosen[0] :])
    return st.one_of(cut, flipped, more)


def damaged_values(content: bytes) -> st.SearchStrategy[bytes]:
    """The JSON with one value replaced or deleted. Of JSON lines, one line has the damage."""
    lines = content.decode().splitlines()
    if len(lines) > 1 and all(line.startswith("{") for line in lines):
        return st.integers(0, len(lines) - 1).flatmap(
            lambda number: _damaged(json.loads(lines[number])).map(
                lambda line: "\n".join([*lines[:number], line, *lines[number + 1 :], ""]).encode()
            )
        )
    return _damaged(json.loads(content)).map(str.encode)


def _damaged(value: Any) -> st.SearchStrategy[str]:
    choice = st.tuples(st.sampled_from(list(places(value))), st.sampled_from(VALUES))
    return choice.map(lambda chosen: _text(replaced(value, *chosen)))


def _text(value: Any) -> str:
    # Python writes no number of more than 4,300 digits; 10**400 is below that.
    return json.dumps(value)
