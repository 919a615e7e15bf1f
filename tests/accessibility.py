"""An accessibility check of a page in a real browser, for all tests of pages: axe-core, and a walk by the tab key.

The rules are those of axe-core: contrast, labels, headings, landmarks, roles. axe-core comes with the package
`axe-playwright-python` and runs inside the page, which makes no request for it.
"""

from typing import Any

from tests import needs

WIDE, NARROW = (1280, 900), (400, 800)
# The rules of WCAG 2.2 up to level AA, and what axe-core recommends beside them.
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# More elements than this are not visited by the tab key; a page with more stops is refused.
MOST_STOPS = 400
_FOCUSED = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  const marked = node.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return {html: node.outerHTML.slice(0, 120), marked, seen: box.width > 0 && box.height > 0};
}"""


def check(page: Any) -> None:
    """Assert that an open page has no violation: light and dark, wide and narrow, and by the tab key."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width, height in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": height})
            found += [f"{scheme}, {width} wide: {line}" for line in violations(page)]
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"{scheme}, {width} wide: the page is wider than its window")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    found += focus_problems(page)
    assert found == [], "\n".join(found)


def violations(page: Any) -> list[str]:
    """What axe-core finds on an open page: a line for each rule and element."""
    script = needs.package("axe_playwright_python.base").AXE_SCRIPT
    page.evaluate(script)
    options = {"runOnly": {"type": "tag", "values": list(TAGS)}, "resultTypes": ["violations"]}
    results = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{rule['id']} ({rule['impact']}): {' '.join(map(str, node['target']))}: {node['failureSummary'].splitlines()[-1]}"
        for rule in results["violations"]
        for node in rule["nodes"]
    ]


def focus_problems(page: Any) -> list[str]:
    """Walk through the page by the tab key: every stop must be visible and show that it has the focus."""
    found: list[str] = []
    first = None
    page.evaluate("() => { document.activeElement?.blur(); window.scrollTo(0, 0); }")
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(_FOCUSED)
        # After the last stop the focus leaves the page, or begins again at the first.
        if stop is None or stop["html"] == first:
            return found
        first = first or stop["html"]
        if not stop["seen"]:
            found.append(f"the tab key stops at what cannot be seen: {stop['html']}")
        elif not stop["marked"]:
            found.append(f"the focus cannot be seen at {stop['html']}")
    return [*found, f"the tab key stops more than {MOST_STOPS} times"]
