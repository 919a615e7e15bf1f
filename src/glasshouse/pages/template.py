"""Fills the HTML templates. Values are escaped; style sheets and scripts are inlined, so that a page is one file."""

from __future__ import annotations

import base64
import io
import tomllib
from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2

from glasshouse.pages import colours

if TYPE_CHECKING:
    from PIL.Image import Image

# A page with fewer sections needs no list of contents.
FEWEST_SECTIONS = 4


def fill(name: str, styles: Sequence[str] = ("page.css",), scripts: Sequence[str] = (), **values: Any) -> str:
    """Render the template `name`; `style` and `script` in it hold the text of these files."""
    inline = {
        "style": "\n".join([colours.variables(), *map(_read, styles)]) if styles else "",
        "script": "\n".join(map(_read, scripts)),
    }
    return writable(_environment().get_template(name).render(**inline, **values))


@cache
def _environment() -> jinja2.Environment:
    """One environment for all pages, because it keeps the templates that it has compiled."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("glasshouse", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(explanation_of=explanation_of, sections_of=sections)
    return environment


@cache
def glossary() -> dict[str, str]:
    """The words that the pages explain, from the file glossary.toml."""
    return tomllib.loads(_read("glossary.toml"))


def explanation_of(title: str) -> tuple[str, str] | None:
    """A word with its explanation; of a title such as "validation perplexity", those of the metric at its end."""
    words = title.split()
    endings = (" ".join(words[start:]) for start in range(len(words)))
    return next(((word, glossary()[word]) for word in endings if word in glossary()), None)


def writable(text: str) -> str:
    """Replace characters that a file or a parser cannot hold: lone surrogates (not valid UTF-8) and NUL."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def data_url(content: bytes, kind: str) -> str:
    """A file as a data: URL; `kind` is its media type."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def image_url(image: Image) -> str:
    """A picture as a data: URL."""
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return data_url(file.getvalue(), "image/png")


def _read(name: str) -> str:
    return resources.files("glasshouse.pages").joinpath(name).read_text(encoding="utf-8")


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
