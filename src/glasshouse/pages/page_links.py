"""Links between the pages of a set: a line at the top of a page that leads back to the index and to its neighbours.

A page is written before its neighbours are known. So the line is put into the finished page, and again when they change.
"""

import re
from collections.abc import Callable, Sequence
from html import escape, unescape

from glasshouse.results.index import PageLink

# By this line the index is known to be written by Glasshouse; another file is never replaced.
GENERATOR = "<!-- An index that glasshouse pages wrote. -->"
_LINE = re.compile(r'<nav class="neighbours".*?</nav>\n', re.DOTALL)
_LINK = re.compile(r'<a [^>]*href="([^"]*)">([^<]*)</a>')
# A link to a run on the page of its study: the run's path from there is kept beside the address, which may change.
_RUN = re.compile(r'<a data-run="([^"]*)" href="[^"]*">')
_STYLE = "display:flex;flex-wrap:wrap;gap:2px 18px;padding:14px 0 0;font-size:14px"


def with_links(page: str, links: Sequence[PageLink]) -> str:
    """The page with these links at its top, instead of those that it had."""
    without = _LINE.sub("", page, count=1)
    if not links:
        return without
    items = "".join(f'<a style="color:inherit" href="{escape(link.address)}">{escape(link.text)}</a>' for link in links)
    # Pages of older releases have no rule for it in their style sheet.
    line = f'<nav class="neighbours" aria-label="Neighbouring pages" style="{_STYLE}">{items}</nav>\n'
    return without.replace("<body>\n", f"<body>\n{line}", 1)


def with_run_addresses(page: str, address: Callable[[str], str]) -> str:
    """A study's page whose links to its runs lead to these addresses, each from the run's path in the study's folder."""

    def link(found: re.Match[str]) -> str:
        return f'<a data-run="{found[1]}" href="{escape(address(unescape(found[1])))}">'

    return _RUN.sub(link, page)


def links_of(page: str) -> list[PageLink]:
    line = _LINE.search(page)
    return [PageLink(unescape(text), unescape(address)) for address, text in _LINK.findall(line[0])] if line else []
