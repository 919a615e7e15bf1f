"""Writes a page of a set of pages: it keeps the links of the page that it replaces, and a new one links to the index."""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from glasshouse.pages import page_links
from glasshouse.records import atomic_files, plain_files, run_folder
from glasshouse.results.index import PageLink

INDEX, REPORT = "index.html", "report.html"


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


def run_address(study: Path, run: str) -> str:
    """The address of a run from the page of its study: its report, or its folder if it has none yet."""
    return quote(f"{run}/{REPORT}" if (study / run / REPORT).is_file() else f"{run}/")


def add_study_link(report: Path, study: Path) -> None:
    """Link a run's report to the page of its study, if it is not linked yet."""
    with suppress(OSError, UnicodeError):  # a page that cannot be read or written keeps its links
        page = plain_files.read_text(report)
        links, back = page_links.links_of(page), study_link(study, report.parent)
        if back not in links:
            atomic_files.write_text(report, page_links.with_links(page, [*links, back]))


def study_link(study: Path, folder: Path) -> PageLink:
    """The link from a run's folder to the page of its study."""
    return link(f"the study {study.name}", study / REPORT, folder)


def write(path: Path, page: str) -> None:
    """Write a page with the links that it had; without any, with a link to the index of the runs folder or of its parent,
    and from a run of a study to the study's page."""
    try:
        links = page_links.links_of(plain_files.read_text(path))
    except OSError:
        links = []
    if not links:
        found = [file for file in (path.parent.parent / INDEX, run_folder.root() / INDEX) if is_index(file)]
        links = [index_link(file, path.parent) for file in found[:1]]
        study = run_folder.study_around(path.parent)
        links += [study_link(study, path.parent)] if study and (study / REPORT).is_file() else []
    atomic_files.write_text(path, page_links.with_links(page, links))
