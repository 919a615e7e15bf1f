"""A hook of MkDocs: links from a page to a file of the repository outside `docs/` also work in the built site.

On a code host the link `../src/glasshouse/training/loop.py` opens the file. The site has no such file, so this hook adds a
page with the text of every file that is linked, and points the link at it. `README.md` is the first page of the site.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent.parent
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=(?:#[^)\s]*)?\))")
FENCES = {".py": "python", ".toml": "toml", ".js": "javascript", ".yml": "yaml", ".md": "markdown"}
# Pages of the repository's root that belong to the site's navigation.
ROOT_PAGES = {
    "README.md": "index.md",
    **{f"{name}.md": f"project/{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")},
}
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def on_files(files: Files, config: Any) -> Files:
    """Add a page for every file outside `docs/` that a page links to."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    linked: set[str] = set()
    for file in list(files.documentation_pages()):
        linked |= {target for _, target in _links(file.src_uri, file.content_string) if _is_source(target)}
    for path in sorted(linked):
        fence = FENCES.get(Path(path).suffix, "text")
        text = (ROOT / path).read_text(encoding="utf-8")
        content = f"{NOT_SEARCHED}# `{path}`\n\n``````{fence}\n{text}\n``````\n"
        files.append(File.generated(config, _page_of(path), content=content, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at the pages of the site."""
    here = page.file.src_uri
    if here.startswith("source/"):
        return markdown
    for link, target in sorted(set(_links(here, markdown))):
        destination = posixpath.relpath(_page_of(target), posixpath.dirname(here) or ".")
        markdown = re.sub(rf"(?<=\]\(){re.escape(link)}(?=[#)])", destination, markdown)
    return markdown


def _links(page: str, markdown: str) -> list[tuple[str, str]]:
    """(link as it is written, path from the root of the repository) of every relative link of a page."""
    folder = "." if page in ROOT_PAGES.values() else posixpath.dirname(f"docs/{page}")
    return [(link, posixpath.normpath(posixpath.join(folder, link))) for link in LINK.findall(markdown)]


def _is_source(path: str) -> bool:
    return not path.startswith(("docs/", "..")) and path not in ROOT_PAGES and (ROOT / path).is_file()


def _page_of(path: str) -> str:
    """The page of the site that shows a file of the repository."""
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    if path.startswith("docs/"):
        return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))
    return f"source/{path}.md"
