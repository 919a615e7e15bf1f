"""One way to fill a page's template: everything escaped and inline, and text that any file can hold."""

from collections.abc import Sequence
from importlib import resources
from typing import Any

import jinja2


def fill(name: str, styles: Sequence[str] = ("report.css",), scripts: Sequence[str] = (), **values: Any) -> str:
    """The template of that name with these values, and the text of these files as `style` and `script`."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("glasshouse", "pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    inline = {"style": "\n".join(map(_file, styles)), "script": "\n".join(map(_file, scripts))}
    return writable(environment.get_template(name).render(**inline, **values))


def writable(text: str) -> str:
    """The text with stand-ins for a lone surrogate, which cannot be written to a file, and NUL, which ends some parsers."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _file(name: str) -> str:
    return resources.files("glasshouse.pages").joinpath(name).read_text(encoding="utf-8")
