"""The list of contents of a long page: the sections of its markup, by their ids and headings. Knows nothing of templates."""

from html.parser import HTMLParser

# A page with fewer sections needs no list.
FEWEST_SECTIONS = 4


class _Headings(HTMLParser):
    """Collects the text of the first h2 of every section that has an id."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.section = ""
        self.reading = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.section = dict(attributes).get("id") or ""
        elif tag == "h2" and self.section and self.section not in self.found:
            self.found[self.section], self.reading = "", True

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2":
            self.reading = False

    def handle_data(self, data: str) -> None:
        if self.reading:
            self.found[self.section] += data


def sections(markup: str) -> list[tuple[str, str]]:
    """(id, heading) of each section; empty if there are too few for a list."""
    parser = _Headings()
    parser.feed(str(markup))
    parser.close()
    return list(parser.found.items()) if len(parser.found) >= FEWEST_SECTIONS else []
