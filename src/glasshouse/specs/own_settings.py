"""An immutable mapping from setting names to values. It lets a frozen spec be compared and hashed."""

from collections.abc import Iterator, Mapping
from typing import Any


class OwnSettings(Mapping[str, Any]):
    """The values, by name, of settings that parts declare on their own classes."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        merged = {**(values or {}), **more}
        self._values = {name: merged[name] for name in sorted(merged)}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        return f"OwnSettings({self._values!r})"
