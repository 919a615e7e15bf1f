"""The files of a how-to page as an installed package: importable, and with its words in the catalogues."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glasshouse.specs import catalogue

from .page import Page


@contextmanager
def installed(page: Page, folder: Path) -> Iterator[None]:
    """Inside the block, the page's modules and catalogue lines are found as if pip had installed them in this folder."""
    metadata = folder / "how_to-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: how-to\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{word} = {value}\n" for word, value in words.items())
        for group, words in page.entry_points().items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    for name, text in page.modules().items():
        (folder / name).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    forget_catalogues()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in page.modules():
            sys.modules.pop(Path(name).stem, None)
        forget_catalogues()


def forget_catalogues() -> None:
    """Make the next look-up read the entry points of the installed packages again."""
    importlib.invalidate_caches()
    catalogue._all_entries.cache_clear()
    catalogue._entries.cache_clear()
