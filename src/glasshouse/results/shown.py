"""Results show themselves in a notebook. The page of a result is drawn far above them, so `api` says how."""

from collections.abc import Callable
from typing import ClassVar


class Shown:
    """A result with a page of its own."""

    draw: ClassVar[Callable[["Shown"], str] | None] = None

    def _repr_html_(self) -> str | None:
        return Shown.draw(self) if Shown.draw else None
