"""The index over a folder: written from plain files, with links in all directions that survive a move."""

import re
from pathlib import Path
from urllib.parse import urldefrag

from glasshouse.api import page_index
from glasshouse.pages import page_links
from glasshouse.results.index import PageLink
from glasshouse.specs.errors import RunError
from tests.records.example_folders import REPORT, make_run, make_study
from tests.refusals import refused


def links(page: Path) -> set[Path]:
    """The files that a page links to."""
    addresses = re.findall(r'<a [^>]*href="([^"#][^"]*)"', page.read_text())
    return {(page.parent / urldefrag(address)[0]).resolve() for address in addresses}


def filled(folder: Path) -> Path:
    make_run(folder / "runs" / "a", report=True)
    make_run(folder / "runs" / "b")
    (make_run(folder / "runs" / "damaged").path / "run.json").write_text("{")
    make_study(folder / "studies" / "s", report=True)
    make_study(folder / "studies" / "claims" / "alibi-speed" / "trial-1" / "main", report=True)
    (folder / "claims.html").write_text(REPORT)
    return folder


def test_pages_link_to_each_other_also_after_a_move(tmp_path: Path) -> None:
    index = page_index.write(page_index.folders_of(filled(tmp_path / "one")))
    assert index == tmp_path / "one" / "index.html"
    (tmp_path / "one").rename(tmp_path / "two")
    home = (tmp_path / "two").resolve()
    own, study, run = home / "index.html", home / "studies/s/report.html", home / "studies/s/learned/seed-0/report.html"
    trial = home / "studies/claims/alibi-speed/trial-1/main/report.html"
    assert {home / "runs/a/report.html", study, run, trial, home / "claims.html"} <= links(own)
    assert links(home / "runs/a/report.html") == {own}
    assert links(study) == {own, run, home / "studies/s/rotary/seed-0/report.html"}
    assert links(run) == {own, study}
    assert {own, home / "claims.html"} <= links(trial)
    for page in home.rglob("*.html"):
        assert all(target.is_file() for target in links(page)), page
    text = own.read_text()
    assert "glasshouse report" in text
    assert "run.json cannot be read" in text
    assert "rotary is better than learned" in text


def test_writing_again_refreshes_and_changes_no_page_twice(tmp_path: Path) -> None:
    folders = page_index.folders_of(filled(tmp_path / "one"))
    page_index.write(folders)
    report = folders.runs / "a" / "report.html"
    before = report.read_text()
    make_run(folders.runs / "new")
    page_index.write(folders)
    assert "new" in folders.index_file.read_text()
    assert report.read_text() == before
    assert page_links.with_links(before, []) == REPORT


def test_a_folder_of_runs_alone_has_its_index(tmp_path: Path) -> None:
    make_run(tmp_path / "a", report=True)
    assert page_index.write(page_index.folders_of(tmp_path)) == tmp_path / "index.html"
    assert links(tmp_path / "index.html") == {tmp_path / "a" / "report.html"}


def test_bad_folders_and_foreign_files_are_refused(tmp_path: Path) -> None:
    with refused(RunError, "nowhere"):
        page_index.folders_of(tmp_path / "nowhere")
    make_run(tmp_path / "runs" / "a")
    with refused(RunError, str(tmp_path / "runs")):
        page_index.folders_of(tmp_path / "runs" / "a")
    (tmp_path / "index.html").write_text("mine")
    with refused(RunError, "index.html"):
        page_index.write(page_index.folders_of(tmp_path))
    assert (tmp_path / "index.html").read_text() == "mine"


def test_without_any_folder_there_is_no_index(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "no-studies"))
    with refused(RunError, "no-studies"):
        page_index.write(page_index.folders_of())


def test_a_page_keeps_its_links(tmp_path: Path) -> None:
    path, kept = tmp_path / "a" / "report.html", [PageLink("a & b", "../x.html?c=1&d=2")]
    path.parent.mkdir()
    path.write_text(page_links.with_links(REPORT, kept))
    page_index.write_page(path, REPORT.replace("a page", "newer"))
    assert page_links.links_of(path.read_text()) == kept
    assert "newer" in path.read_text()


def test_a_new_page_links_to_an_index_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a" / "report.html"
    path.parent.mkdir()
    (tmp_path / "index.html").write_text("the page of someone")
    page_index.write_page(path, REPORT)
    assert page_links.links_of(path.read_text()) == []
    (tmp_path / "index.html").write_text(page_links.GENERATOR)
    page_index.write_page(path, REPORT)
    assert [link.address for link in page_links.links_of(path.read_text())] == ["../index.html"]
