"""The page in a real browser, offline: no request, no error, and pointing and choosing do what they say."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from glasshouse.pages.report_page import AttentionMap, render

from . import example

CHROMIUM = next(
    (
        found
        for name in ("/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium on this machine")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, "--no-first-run"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(example.report()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser, address: str) -> Iterator:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(address)
    yield page
    assert complaints == []
    context.close()


def point_at(page, selector: str, right: float, down: float) -> None:
    """Moves the pointer into an element, by fractions of its width and height."""
    target = page.locator(selector).first
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    page.mouse.move(box["x"] + box["width"] * right, box["y"] + box["height"] * down)


def test_a_token_says_how_likely_it_was(page) -> None:
    token = page.locator(".token:not(.given)").first
    token.hover()
    tooltip = page.locator("#tooltip")
    assert "·the" in tooltip.inner_text()
    assert "probability" in tooltip.inner_text()
    assert tooltip.locator(".alternatives tr").count() == 5
    page.mouse.move(0, 0)
    assert tooltip.is_hidden()
    token.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('#tooltip').innerText.includes('·state')")
    page.keyboard.press("Escape")
    assert tooltip.is_hidden()


def test_a_chart_reads_out_its_values_changes_scale_and_hides_curves(page) -> None:
    point_at(page, "svg.chart", 0.5, 0.5)
    assert "training loss" in page.locator("#tooltip").inner_text()
    panel = page.locator(".panel").first
    assert panel.locator("[data-scale=log]").is_hidden()
    panel.get_by_role("button", name="log", exact=True).click()
    assert panel.locator("[data-scale=log]").is_visible()
    assert panel.locator("[data-scale=linear]").is_hidden()
    panel.get_by_role("button", name="training loss").click()
    assert panel.locator("[data-scale=log] [data-curve='0']").is_hidden()
    point_at(page, "svg.chart", 0.5, 0.5)
    assert "training loss" not in page.locator("#tooltip").inner_text()
    assert "validation loss" in page.locator("#tooltip").inner_text()


def test_a_thumbnail_enlarges_its_head_and_the_map_reads_out_weights(page) -> None:
    weights = example.attention().weights
    thumbnail = page.locator(".head").nth(6)
    thumbnail.click()
    assert page.locator("#chosen-head").inner_text() == "Layer 2, head 3"
    assert "previous token" in page.locator("#chosen-habit").inner_text()
    enlarged = page.locator("svg.map image.light-only").get_attribute("href")
    assert enlarged == thumbnail.locator("img.light-only").get_attribute("src")
    page.locator("svg.map").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#tooltip").inner_text() == f"·the → ·Americans,: {weights[1, 2, 3, 2]:.3f}"


def test_a_map_that_looks_ahead_reads_out_weights_too(browser, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 2, 5))
    path = tmp_path / "ahead.html"
    attention = AttentionMap(("a", "b", "c", "d", "e"), weights)
    path.write_text(render(dataclasses.replace(example.report(), attention=attention)), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator(".head").nth(3).click()
    page.locator("svg.map").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#tooltip").inner_text() == f"b → d: {weights[1, 1, 1, 3]:.3f}"
    page.close()


def test_a_word_shows_where_it_looks(page) -> None:
    weights = example.attention().weights
    page.locator(".word").nth(9).hover()
    shares = np.sort(weights[0, 0, 9])[::-1]
    assert f"{shares[0]:.3f}" in page.locator("#looks-at").inner_text()
    assert page.locator(".word.looking").count() == 1


def test_a_phone_need_not_scroll_sideways_and_dark_mode_has_its_own_pictures(browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("svg.map image.dark-only").is_visible()
    assert page.locator("svg.map image.light-only").is_hidden()
    context.close()


def test_text_that_looks_like_a_script_is_only_text(browser, tmp_path: Path) -> None:
    path = tmp_path / "nasty.html"
    path.write_text(render(example.nasty()), encoding="utf-8")
    page = browser.new_page()
    alarms: list[str] = []
    page.on("dialog", lambda dialog: alarms.append(dialog.message))
    page.on("pageerror", lambda error: alarms.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".token").nth(1).focus()
    page.wait_for_function("document.querySelector('#tooltip').innerText.includes('</script><script>')", timeout=5000)
    assert alarms == []
    page.close()


def test_without_scripts_the_page_still_reads(browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("svg.chart").first.is_visible()
    assert page.locator("svg.map").is_visible()
    assert page.locator(".switch").first.is_hidden()
    assert page.locator(".token:not(.given)").first.get_attribute("title").startswith("probability")
    context.close()
