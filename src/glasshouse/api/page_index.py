"""The index over the runs and studies of a folder: collects its content, writes it, and links the pages to each other."""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from glasshouse.pages import index_page, page_links
from glasshouse.records import atomic_files, containment, plain_files, progress_bar, run_entries, run_folder
from glasshouse.records.run_entries import Points, RunEntry, RunEntryReader
from glasshouse.records.user_paths import StrPath
from glasshouse.results.index import IndexContent, PageLink, RunRow, StudyEntry, StudyRow
from glasshouse.specs.errors import RunError
from glasshouse.studies import study_entries, study_folder

INDEX, REPORT, CLAIMS_PAGE = "index.html", "report.html", "claims.html"
# The address of a page, from its path.
Address = Callable[[Path], str]


@dataclass(frozen=True)
class PageFolders:
    """The folders of runs and of studies that one index covers, and the folder that the index is in."""

    runs: Path
    studies: Path
    index: Path

    @property
    def index_file(self) -> Path:
        return self.index / INDEX

    def key(self, path: Path) -> str:
        """A name of a run or a study among all: its path from the index."""
        return os.path.relpath(path, self.index).replace(os.sep, "/")

    @property
    def where(self) -> str:
        return " and ".join(dict.fromkeys(path.absolute().name for path in (self.runs, self.studies)))


def folders_of(folder: StrPath | None = None) -> PageFolders:
    """The folders of runs and studies: those of the environment, those in a folder, or a folder that has them itself."""
    if folder is None:
        runs, studies = run_folder.root(), study_folder.root()
        return PageFolders(runs, studies, runs)
    path = Path(folder)
    if not path.is_dir():
        found = "is a file" if path.exists() else "does not exist"
        raise RunError(f"{path} {found}; name a folder of runs or studies, or a folder with runs/ or studies/")
    if run_entries.is_run(path) or (path / study_folder.FILE).is_file():
        kind = "run" if run_entries.is_run(path) else "study"
        raise RunError(f"{path} is a {kind} and not a folder of them; name the folder above: {path.parent}")
    is_above = (path / "runs").is_dir() or (path / "studies").is_dir()
    folders = PageFolders(path / "runs", path / "studies", path) if is_above else PageFolders(path, path, path)
    if not (run_entries.folders_in(folders.runs) or study_entries.folders_in(folders.studies)):
        raise RunError(f"{path} has no runs and no studies; name a folder of them, or one with runs/ or studies/ in it")
    return folders


@dataclass(frozen=True)
class Entries:
    """All runs and studies of the folders, as they are now. `version` changes with anything that a page shows."""

    runs: tuple[RunEntry, ...]
    studies: tuple[StudyEntry, ...]

    @property
    def version(self) -> str:
        shown = [(str(run.path), str(run.status), run.changed, run.has_report) for run in self.every_run]
        others = [
            (str(s.path), str(s.status), s.changed, s.has_report, s.verdict, s.words, s.cautions) for s in self.studies
        ]
        return hashlib.sha256(repr((shown, others)).encode()).hexdigest()[:16]

    @property
    def every_run(self) -> list[RunEntry]:
        return [*self.runs, *(run for study in self.studies for run in study.runs)]


def read(folders: PageFolders, reader: RunEntryReader) -> Entries:
    """Read all runs and studies; a damaged one is an entry too."""
    runs = tuple(reader.read(path) for path in run_entries.folders_in(folders.runs))
    studies = tuple(study_entries.read(path, reader) for path in study_entries.folders_in(folders.studies))
    return Entries(runs, studies)


def content(
    folders: PageFolders,
    entries: Entries,
    run_address: Address | None = None,
    curves: Callable[[Path], dict[str, Points]] = lambda path: {},
) -> IndexContent:
    """The content of the index page. By default a run's link leads to its report; `run_address` leads elsewhere."""

    def report(path: Path, exists: bool, title: str) -> PageLink | None:
        if not exists:
            return None
        return PageLink(title, run_address(path) if run_address else folders.key(path / REPORT))

    def run_page(run: RunEntry, title: str) -> PageLink | None:
        return report(run.path, run.has_report or run_address is not None, title)

    def run_row(run: RunEntry, study: StudyEntry | None = None) -> RunRow:
        return RunRow(
            **vars(run),
            key=folders.key(run.path),
            title=f"{run.path.parent.name}, {run.name}" if study else run.name,
            page=run_page(run, run.name),
            command="" if run.has_report else f"glasshouse report {_argument(run.path)}",
            study=study.name if study else "",
            study_page=report(study.path, study.has_report, study.name) if study else None,
            curves=curves(run.path),
        )

    claims_page = find_claims_page(folders)

    def study_row(study: StudyEntry) -> StudyRow:
        links = [run_page(run, f"{run.path.parent.name}, {run.name}") for run in study.runs]
        claim_page = PageLink("claim", f"{folders.key(claims_page)}#{study.claim}") if claims_page and study.claim else None
        return StudyRow(
            **vars(study),
            key=folders.key(study.path),
            page=report(study.path, study.has_report, study.name),
            command="" if study.has_report else f"glasshouse report {_argument(study.path)}",
            run_pages=tuple(link for link in links if link),
            claim_page=None if run_address else claim_page,
        )

    rows = [run_row(run) for run in entries.runs]
    rows += [run_row(run, study) for study in entries.studies for run in study.runs]
    newest_first = sorted(rows, key=lambda row: (-row.changed, row.key))
    studies = sorted(map(study_row, entries.studies), key=lambda row: (-row.changed, row.key))
    return IndexContent(folders.where, tuple(newest_first), tuple(studies), time.time())


def write(folders: PageFolders) -> Path:
    """Write the index page, and the links to it and between the pages that exist. A file of someone else stays."""
    if not any(folder.is_dir() for folder in (folders.runs, folders.studies)):
        missing = f"there is neither a folder of runs ({folders.runs}) nor one of studies ({folders.studies})"
        raise RunError(f"{missing}; begin with glasshouse demo, or name a folder: glasshouse pages FOLDER")
    path = folders.index_file
    if path.exists() and not is_index(path):
        raise RunError(f"{path} was not written by glasshouse pages and is kept; rename it, and try again")
    folders.index.mkdir(parents=True, exist_ok=True)
    reader = RunEntryReader()
    with progress_bar.bar("reading runs") as show:
        entries = read(folders, reader)
        runs = entries.every_run
        for number, run in enumerate(runs, 1):
            reader.curves(run.path)  # kept, and most of the work
            show(number / len(runs))
    atomic_files.write_text(path, index_page.render(content(folders, entries, curves=reader.curves)))
    for run in (run for run in entries.runs if run.has_report):
        _relink(run.path / REPORT, [index_link(path, run.path)])
    claims_page = find_claims_page(folders)
    for study in entries.studies:
        _link_study(folders, study, claims_page)
    return path


def find_claims_page(folders: PageFolders) -> Path | None:
    """The page that `glasshouse claims report` wrote, if it is beside the index or beside the studies."""
    for folder in (folders.index, folders.studies, folders.studies.parent):
        if (folder / CLAIMS_PAGE).is_file():
            return folder / CLAIMS_PAGE
    return None


def _link_study(folders: PageFolders, study: StudyEntry, claims_page: Path | None) -> None:
    index = folders.index_file
    # A trial of a claim has a name that the program chose, so that a link there is somebody else's.
    within = folders.studies if study.claim else study.path
    if study.has_report and not (study.claim and containment.passes_link(study.path, within)):
        links = [index_link(index, study.path)]
        if claims_page and study.claim:
            claim = link(f"the claim {study.claim}", claims_page, study.path)
            links.append(PageLink(claim.text, f"{claim.address}#{study.claim}"))
        _relink(study.path / REPORT, links)
    for run in (run for run in study.runs if run.has_report and not containment.passes_link(run.path, within)):
        back = [study_link(study.path, run.path)] if study.has_report else []
        _relink(run.path / REPORT, [index_link(index, run.path), *back])


def is_index(path: Path) -> bool:
    try:
        return page_links.GENERATOR in plain_files.read_text(path)
    except OSError:
        return False


def link(text: str, target: Path, folder: Path) -> PageLink:
    """A relative link from a page in this folder, so that all folders can be moved together."""
    return PageLink(text, Path(os.path.relpath(target, folder)).as_posix())


def index_link(index: Path, folder: Path) -> PageLink:
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
    return link(f"the study {study.name}", study / REPORT, folder)


def write_page(path: Path, page: str) -> None:
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


def _relink(path: Path, links: list[PageLink]) -> None:
    """Put the links at the top of a page, if they are not there yet, and bring a study's links to its runs up to date."""
    with suppress(OSError, UnicodeError):  # a page that cannot be read or written keeps its links
        old = path.read_text(encoding="utf-8")
        page = page_links.with_run_addresses(old, lambda run: run_address(path.parent, run))
        new = page_links.with_links(page, links)
        if new != old:
            atomic_files.write_text(path, new)


def _argument(path: Path) -> str:
    """How a command names a run or study: by its name, or by its path if it is not in the folder where names are found."""
    if path.parent.absolute() in (run_folder.root().absolute(), study_folder.root().absolute()):
        return path.name
    return str(path)
