"""Prints the answer of a language model as it comes, and a line about it on the error stream."""

import sys
from typing import Any

from glasshouse import formatting
from glasshouse.records.progress_bar import console


class Printer:
    """Prints the pieces of one answer."""

    def __init__(self) -> None:
        self.column_zero = True

    def show(self, piece: str) -> None:
        """Print a piece at once."""
        text = printable(piece)
        sys.stdout.write(text)
        sys.stdout.flush()
        if text:
            self.column_zero = text.endswith("\n")

    def end(self, reply: Any = None) -> None:
        """End the last line; then say how long the answer is and how long it took."""
        if not self.column_zero:
            sys.stdout.write("\n")
            sys.stdout.flush()
        if reply is not None:
            cut = ", cut off" if reply.finish == "length" else ""
            tokens = "1 token" if reply.tokens == 1 else f"{reply.tokens:,} tokens"
            console.print(f"{tokens}, {formatting.duration(reply.seconds)}{cut}", style="dim", highlight=False)


def printable(text: str) -> str:
    """A text with signs for the control characters with which a model could change the terminal."""
    encoding = sys.stdout.encoding or "utf-8"
    return formatting.without_controls(text).encode(encoding, "replace").decode(encoding)
