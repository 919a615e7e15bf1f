"""Every kind of page passes the accessibility check in a real browser. A page with a known fault does not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from glasshouse.pages import index_page, report_page, study_page
from tests import accessibility, needs

from . import example_index, example_report, example_study

PAGES: dict[str, Callable[[], str]] = {
    "index": lambda: index_page.render(example_index.content()),
    "report": lambda: report_page.render(example_report.report()),
    "study": lambda: study_page.render(example_study.checked()),
    "sweep": lambda: study_page.render(example_study.sweep()),
}


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = needs.package("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=needs.chromium(), args=needs.CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible(browser, tmp_path: Path, name: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGES[name](), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    accessibility.check(page)
    page.close()


def test_faults_are_found(browser) -> None:
    page = browser.new_page()
    page.set_content(
        "<!doctype html><html lang=en><title>a</title><style>button:focus-visible { outline: none; }</style>"
        "<main><h1>a</h1><p style='color: #bbb; background: #fff'>grey</p><input><button>go</button></main></html>"
    )
    found = " ".join(accessibility.violations(page))
    assert "color-contrast" in found
    assert "label" in found
    assert any("<button>" in line for line in accessibility.focus_problems(page))
    page.close()
