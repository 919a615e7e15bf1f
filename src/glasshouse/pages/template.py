"""Fills the HTML templates. Values are escaped; style sheets and scripts are inlined, so that a page is one file."""

from __future__ import annotations

import base64
import io
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2.filters import do_striptags

from glasshouse.pages import colours

if TYPE_CHECKING:
    from PIL.Image import Image

# A page with fewer sections needs no list of contents.
FEWEST_SECTIONS = 4
_SECTION = re.compile(r'<section\b[^>]*\bid="([^"]+)"[^>]*>(?:(?!<section\b).)*?<h2[^>]*>(.*?)</h2>', re.DOTALL)


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
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return data_url(file.getvalue(), "image/png")


def _read(name: str) -> str:
    return resources.files("glasshouse.pages").joinpath(name).read_text(encoding="utf-8")


def sections(markup: str) -> list[tuple[str, str]]:
    """(id, heading) of each section with both; empty if there are too few for a list."""
    found = [(identifier, do_striptags(heading)) for identifier, heading in _SECTION.findall(str(markup))]
    return found if len(found) >= FEWEST_SECTIONS else []
