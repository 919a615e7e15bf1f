"""A hook of MkDocs: in search results, explanations come before records of measurements, which repeat every term."""

from typing import Any

RECORDS = ("claims.md", "certificates.md", "log.md", "results.md", "project/CHANGELOG.md")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lower the rank of records."""
    if page.file.src_uri in RECORDS:
        page.meta["search"] = {"boost": 0.2}
    return markdown
