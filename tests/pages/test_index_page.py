"""The index page in a real browser, offline: filter, sort and curves of the chosen runs."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from glasshouse.pages import index_page
from glasshouse.results.index import IndexContent
from tests import needs

from .example_index import content


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = needs.package("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=needs.chromium(), args=needs.CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    path: Path = tmp_path_factory.mktemp("index") / "index.html"
    path.write_text(index_page.render(content()), encoding="utf-8")
    page = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True).new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    yield page
    assert problems == []


def names(page) -> list[str]:
    return page.locator("#run-table tbody tr:visible th a, #run-table tbody tr:visible th:not(:has(a))").all_inner_texts()


def test_rows_are_filtered_sorted_and_shown_in_part(page) -> None:
    assert len(names(page)) == 25
    assert names(page)[1] == "run-70"
    page.get_by_role("button", name="show all").click()
    assert len(names(page)) == 71
    page.get_by_role("button", name="main figure").click()
    assert page.locator("#run-table thead [aria-sort]").get_attribute("aria-sort") == "other"
    shown = [name.split("\n")[0] for name in names(page) if name.startswith("run-")]
    assert shown[:9] == [*(f"run-{number}" for number in range(70, 0, -10)), "run-69", "run-68"], "the best of each metric"
    page.fill("#filter", "RUN-7 shakespeare")
    assert names(page) == ["run-70"]
    page.fill("#filter", "run-1")
    page.get_by_role("button", name="name").click()
    assert names(page)[:3] == ["run-1", "run-10", "run-11"]
    page.select_option("#state", "training")
    assert {name.split("\n")[0] for name in names(page)} == {"run-12", "run-15", "run-18"}
    page.select_option("#state", "")
    page.fill("#filter", "")
    page.check("#with-studies")
    assert len(names(page)) == 72
    page.uncheck("#with-studies")


def test_chosen_runs_have_their_curves_in_both_charts(page) -> None:
    page.get_by_role("button", name="choose none").click()
    assert page.locator("[data-overlay] svg").count() == 0
    for number in range(1, 8):
        page.get_by_label(f"show the curves of runs/run-{number}", exact=True).check()
    assert page.locator("[data-overlay='validation'] .curve").count() == 7
    assert page.locator("[data-overlay='training'] .curve").count() == 7
    styles = page.locator("[data-overlay='training'] .curve").evaluate_all(
        "nodes => nodes.map((node) => node.className.baseVal)"
    )
    assert len(set(styles)) == 7
    page.locator("[data-overlay='validation'] svg").focus()
    page.keyboard.press("End")
    assert "run-3" in page.locator("#tooltip").inner_text()
    page.get_by_role("button", name="remove runs/run-3 from").click()
    assert page.locator("[data-overlay='validation'] .curve").count() == 6
    assert not page.get_by_label("show the curves of runs/run-3", exact=True).is_checked()


def test_a_refresh_of_the_live_page_leaves_the_focus_where_it_was(browser) -> None:
    """The server answers a reading with rows in another order, so every row is a new element."""
    expect = needs.package("playwright.sync_api").expect
    example, asked = content(3), [0]

    def answer(route) -> None:
        path = route.request.url.partition("?")[0].rpartition("/")[2]
        if not path:
            return route.fulfill(body=index_page.render(example, live=True), content_type="text/html")
        if path == "curves":
            return route.fulfill(body="{}", content_type="application/json")
        asked[0] += 1
        rows = index_page.render_rows(replace(example, runs=tuple(reversed(example.runs))))
        counted = {"version": str(asked[0]), "has_runs": True, "has_studies": True, **rows}
        return route.fulfill(body=json.dumps(counted), content_type="application/json")

    page = browser.new_page()
    page.route("**/*", answer)
    page.goto("http://glasshouse.test/?token=0123456789abcdef")
    for focused in (
        page.get_by_role("link", name="run-1", exact=True),
        page.get_by_label("show the curves of runs/run-1", exact=True),
        page.locator("#study-table").get_by_role("link", name="s", exact=True),
        page.locator("#study-table summary"),
    ):
        focused.focus()
        focused.evaluate("element => { element.dataset.old = 'yes' }")
        page.locator("[data-old]").wait_for(state="detached")
        expect(focused).to_be_focused()
    page.close()


def test_the_page_is_complete_without_scripts_and_escapes_everything() -> None:
    html = index_page.render(content(3))
    assert 'href="../studies/s/report.html"' in html
    assert 'href="claims.html#alibi-speed"' in html
    assert "glasshouse report run-4" in index_page.render(content(4))
    assert "<b>bold</b>" not in html
    assert len(re.findall("<tr data-key", html)) == 3 + 2 + 1


def test_a_huge_figure_is_sorted_by_its_size() -> None:
    sizes = [float(index_page.sort_value(figure)) for figure in ("1.235×10³⁰", "2.5×10⁻⁷", "99.01")]
    assert sizes == [1.235e30, 2.5e-7, 99.01]
    huge = replace(content(1).runs[0], figure=("validation perplexity", "1.235×10³⁰"))
    page = index_page.render(IndexContent("runs", (huge,), (), 1.0))
    assert 'data-sort="1.235e30" data-metric="validation perplexity" data-better="lower">1.235×10³⁰<' in page


def test_an_empty_index_says_how_to_begin() -> None:
    assert "glasshouse demo" in index_page.render(IndexContent("runs", (), (), 1.0))


def test_a_study_shows_the_number_of_each_verdict_and_its_cautions() -> None:
    example = content(runs=1)
    few = "a first look: 2 seeds are few"
    several = replace(example.studies[0], words=("undecided", "worse", "undecided"), verdict="a lost to b", cautions=(few,))
    page = index_page.render(replace(example, studies=(several,)))
    assert "\u2717 1 worse</b>" in page
    assert "? 2 undecided</b>" in page
    assert "a lost to b." in page
    assert "A first look: 2 seeds are few." in page
