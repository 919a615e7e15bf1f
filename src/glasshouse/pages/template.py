"""Fills the HTML templates. Values are escaped; style sheets and scripts are inlined, so that a page is one file."""

from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2

from glasshouse.pages import glossary, page_contents


def fill(name: str, styles: Sequence[str] = ("page.css",), scripts: Sequence[str] = (), **values: Any) -> str:
    """Render the template `name`; `style` and `script` in it hold the text of these files."""
    inline = {"style": "\n".join(map(_read, styles)), "script": "\n".join(map(_read, scripts))}
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
    environment.globals.update(explanation_of=glossary.find, sections_of=page_contents.sections)
    return environment


def writable(text: str) -> str:
    """Replace characters that a file or a parser cannot hold: lone surrogates (not valid UTF-8) and NUL."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _read(name: str) -> str:
    return resources.files("glasshouse.pages").joinpath(name).read_text(encoding="utf-8")
