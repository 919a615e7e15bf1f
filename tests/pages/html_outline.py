"""A parser that checks the structure of an HTML page and collects its elements and text."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Collects the elements and the text of a page, and checks that every element is closed in the right order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"script", "style"}:
            self.text += data


def assert_self_contained(page: str, outline: Outline) -> None:
    """A browser needs nothing but the page: it fetches no file and sends no form."""
    for _, attributes in outline.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#"))
    assert {tag for tag, _ in outline.elements}.isdisjoint({"link", "iframe", "object", "embed", "form", "base"})
    assert "@import" not in page
    assert "url(" not in page
    # The only URL is the XML namespace of SVG, which browsers never fetch.
    assert set(re.findall(r"https?://[^\s\"']*", page)) <= {"http://www.w3.org/2000/svg"}
