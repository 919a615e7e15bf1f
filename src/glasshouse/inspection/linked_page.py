"""Writes a page of a set of pages: it keeps the links of the page that it replaces, and a new one links to the index."""

import os
from pathlib import Path

from glasshouse.pages import page_links
from glasshouse.pages.index_content import PageLink
from glasshouse.records import atomic_files, plain_files, run_folder

INDEX = "index.html"


def is_index(path: Path) -> bool:
    """Whether a file is an index that Glasshouse wrote."""
    try:
        return page_links.GENERATOR in plain_files.read_text(path)
    except OSError:
        return False


def link(text: str, target: Path, folder: Path) -> PageLink:
    """A relative link from a page in this folder, so that all folders can be moved together."""
    return PageLink(text, Path(os.path.relpath(target, folder)).as_posix())


def index_link(index: Path, folder: Path) -> PageLink:
    """The link from a page in this folder back to the index."""
    return link("all runs and studies", index, folder)


def write(path: Path, page: str) -> None:
    """Write a page with the links that it had; without any, with a link to the index of the runs folder or of its parent."""
    try:
        links = page_links.links_of(plain_files.read_text(path))
    except OSError:
        links = []
    if not links:
        found = [file for file in (path.parent.parent / INDEX, run_folder.root() / INDEX) if is_index(file)]
        links = [index_link(file, path.parent) for file in found[:1]]
    atomic_files.write_text(path, page_links.with_links(page, links))
