"""A page that is written again keeps its links, and a new page links to the index above it."""

from pathlib import Path

from glasshouse.api import linked_page
from glasshouse.pages import page_links
from glasshouse.results.index import PageLink
from tests.records.example_folders import REPORT


def test_a_page_keeps_its_links(tmp_path: Path) -> None:
    path, kept = tmp_path / "a" / "report.html", [PageLink("a & b", "../x.html?c=1&d=2")]
    path.parent.mkdir()
    path.write_text(page_links.with_links(REPORT, kept))
    linked_page.write(path, REPORT.replace("a page", "newer"))
    assert page_links.links_of(path.read_text()) == kept
    assert "newer" in path.read_text()


def test_a_new_page_links_to_an_index_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a" / "report.html"
    path.parent.mkdir()
    (tmp_path / "index.html").write_text("the page of someone")
    linked_page.write(path, REPORT)
    assert page_links.links_of(path.read_text()) == []
    (tmp_path / "index.html").write_text(page_links.GENERATOR)
    linked_page.write(path, REPORT)
    assert [link.address for link in page_links.links_of(path.read_text())] == ["../index.html"]
