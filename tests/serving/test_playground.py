"""The page of the server in a real browser: tokens stream in, alternatives open, two runs stand side by side."""

from collections.abc import Iterator

import pytest

from glasshouse.runs.run import Run
from tests import needs
from tests.serving.conftest import serving


@pytest.fixture(scope="module")
def page(language_model: Run) -> Iterator:
    playwright = needs.package("playwright.sync_api")
    executable = needs.chromium()
    with serving({"small": language_model, "twin": language_model}) as address, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=needs.CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(address) else problems.append(request.url))
        page.goto(address)
        yield page
        # The log has a line for each answer that is an error: an icon that browsers ask for, and a prompt that is too long.
        assert [problem for problem in problems if "Failed to load resource" not in problem] == []
        browser.close()


def test_tokens_stream_in_and_show_their_alternatives(page, language_model: Run) -> None:
    page.fill("#prompt", "the cat")
    page.fill("#tokens", "12")
    page.fill("#seed", "3")
    page.press("#prompt", "Control+Enter")
    page.wait_for_selector("text=ended by")
    assert page.locator(".written").count() == 1
    [expected] = language_model.sample("the cat", tokens=12, temperature=0.8, top_p=0.95, seed=3)
    assert page.locator(".written .text").inner_text() == "the cat" + expected.text
    page.locator(".written .token").nth(2).hover()
    assert "probability" in page.locator("#tooltip").inner_text()
    assert page.locator("#tooltip .alternatives tr").count() >= 5
    page.locator(".written .token").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement === document.querySelectorAll('.written .token')[1]")


def test_two_runs_side_by_side_and_an_error(page) -> None:
    page.select_option("#second", "twin")
    page.fill("#seed", "3")
    page.click("#write")
    page.locator("#write:enabled").wait_for()
    first, second = page.locator(".written .text").all_inner_texts()
    assert first == second
    page.fill("#prompt", "x" * 2000)
    page.click("#write")
    page.locator("#problem", has_text="context").wait_for()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
