"""The pages in a real browser, offline: no request, no error, and pointing and choosing work."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from glasshouse.pages import explorer_page, live_page, report_page, study_page
from glasshouse.results.index import LiveRun
from glasshouse.results.report import AttentionMap
from tests import needs

from . import example_exploration, example_report, example_study

# A run whose figures are as long as figures can be.
LIVE = LiveRun(
    key="runs/a",
    name="a-long-name-of-a-run",
    subtitle="language-model, next-token, state-of-the-union.",
    status="training",
    explanation="A process trains this run.",
    share=0.1,
    headline=(
        ("validation perplexity per word", "9,999,999.12"),
        ("steps", "100,000 of 1,000,000"),
        ("compute so far", "123.4 TFLOP"),
        ("time so far", "12 h 34 min"),
    ),
    links=(),
    loss=example_report.report().loss,
    evaluations=(("step", "loss", "perplexity", "perplexity per word"), ("1,000", "6.2345", "1.235×10³⁰", "1.235×10³⁰")),
)


def expect(locator):
    """Wait until an assertion on an element holds. It needs no `eval`, which the pages forbid."""
    return needs.package("playwright.sync_api").expect(locator)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = needs.package("playwright.sync_api")
    executable = needs.chromium()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=needs.CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of an example report."""
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_page.render(example_report.report()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser, address: str) -> Iterator:
    """The example report in the browser; the test fails if the page logs an error or makes a request."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    page.goto(address)
    yield page
    assert problems == []
    context.close()


def point_at(page, selector: str, right: float, down: float) -> None:
    """Move the pointer into an element, to these fractions of its width and height."""
    target = page.locator(selector).first
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    page.mouse.move(box["x"] + box["width"] * right, box["y"] + box["height"] * down)


def test_a_token_shows_its_probability(page) -> None:
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
    expect(tooltip).to_contain_text("·state")
    page.keyboard.press("Escape")
    assert tooltip.is_hidden()


def test_a_chart_shows_values_changes_scale_and_hides_curves(page) -> None:
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


def test_a_thumbnail_selects_its_head_and_the_map_shows_weights(page) -> None:
    weights = example_report.attention().weights
    thumbnail = page.locator(".head").nth(6)
    thumbnail.click()
    assert page.locator("#chosen-head").inner_text() == "Layer 2, head 3"
    assert "previous token" in page.locator("#chosen-pattern").inner_text()
    selected = page.locator("svg.map image.light-only").get_attribute("href")
    assert selected == thumbnail.locator("img.light-only").get_attribute("src")
    page.locator("svg.map").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#tooltip").inner_text() == f"·the → ·Americans,: {weights[1, 2, 3, 2]:.3f}"


def test_a_map_without_a_causal_mask_shows_weights(browser, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 2, 5))
    path = tmp_path / "report.html"
    attention = AttentionMap(("a", "b", "c", "d", "e"), weights)
    path.write_text(report_page.render(dataclasses.replace(example_report.report(), attention=attention)), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator(".head").nth(3).click()
    page.locator("svg.map").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator("#tooltip").inner_text() == f"b → d: {weights[1, 1, 1, 3]:.3f}"
    page.close()


def test_a_map_of_two_sentences_shows_weights(browser, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 2, 3))
    attention = AttentionMap(("a", "b", "c"), weights, ("w", "x", "y", "z"))
    path = tmp_path / "cross.html"
    path.write_text(report_page.render(dataclasses.replace(example_report.report(), attention=attention)), encoding="utf-8")
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".head").nth(3).click()
    page.locator("svg.map").focus()
    for key in ("ArrowDown", *["ArrowRight"] * 6):
        page.keyboard.press(key)
    assert page.locator("#tooltip").inner_text() == f"b → z: {weights[1, 1, 1, 3]:.3f}"
    page.locator(".sentence.translation .word").nth(2).hover()
    assert f"{weights[1, 1, 2].max():.3f}" in page.locator("#looks-at").inner_text()
    assert page.locator(".word.looking").all_inner_texts() == ["c"]
    shaded = page.locator(".sentence.source .word[style*='color-mix']")
    assert shaded.count() == 4
    page.close()
    assert errors == []


def test_a_word_shows_its_largest_weights(page) -> None:
    weights = example_report.attention().weights
    page.locator(".word").nth(9).hover()
    shares = np.sort(weights[0, 0, 9])[::-1]
    assert f"{shares[0]:.3f}" in page.locator("#looks-at").inner_text()
    assert page.locator(".word.looking").count() == 1


def test_a_phone_does_not_scroll_sideways_and_dark_mode_has_its_own_images(browser, address: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = context.new_page()
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("svg.map image.dark-only").is_visible()
    assert page.locator("svg.map image.light-only").is_hidden()
    context.close()


def test_a_script_in_a_text_does_not_run(browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(report_page.render(example_report.hostile()), encoding="utf-8")
    page = browser.new_page()
    problems: list[str] = []
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".token").nth(1).focus()
    expect(page.locator("#tooltip")).to_contain_text("</script><script>")
    assert problems == []
    page.close()


def test_the_page_works_without_javascript(browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("svg.chart").first.is_visible()
    assert page.locator("svg.map").is_visible()
    assert page.locator(".switch").first.is_hidden()
    assert page.locator(".token:not(.given)").first.get_attribute("title").startswith("probability")
    context.close()


@pytest.mark.parametrize("width", [1280, 420])
def test_a_study(browser, tmp_path: Path, width: int) -> None:
    path = tmp_path / "study.html"
    path.write_text(study_page.render(example_study.hostile() if width == 420 else example_study.study()), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, color_scheme="dark")
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if width == 1280:
        chart = page.locator("svg[data-chart]")
        chart.hover()
        assert page.locator("#tooltip .reading").count() == 5
        page.get_by_role("button", name="rotary").click()
        assert page.locator("svg[data-chart] [data-scale=close-up] [data-curve='3']").first.is_hidden()
        page.get_by_role("button", name="log", exact=True).click()
        assert page.locator("svg[data-chart] > [data-scale=log]").is_visible()
        assert page.locator("svg[data-chart] > [data-scale=close-up]").is_hidden()
        page.get_by_text("The table in LaTeX").click()
        button = page.locator("details[open] button.copy")
        button.click()
        expect(button).to_have_text("copied")
    assert problems == []
    context.close()


def test_layers_are_scrubbed_and_weights_are_seen_as_lines(page) -> None:
    weights = example_report.attention().weights
    page.locator(".head").nth(2).click()
    page.locator("#layer-scrub").fill("2")
    assert page.locator("#chosen-head").inner_text() == "Layer 2, head 3"
    page.get_by_role("button", name="lines", exact=True).click()
    assert page.locator("#matrix-view").is_hidden()
    visible = int((np.round(weights[1, 2], 3) >= 0.02).sum())
    assert page.locator("svg.lines line").count() == visible
    page.locator("svg.lines text.query").nth(3).hover()
    assert page.locator("svg.lines line").count() == int((np.round(weights[1, 2, 3], 3) >= 0.02).sum())
    assert "attends to" in page.locator("#looks-at").inner_text()
    page.mouse.move(0, 0)
    page.locator("#layer-scrub").fill("1")
    assert page.locator("svg.lines line").count() == int((np.round(weights[0, 2], 3) >= 0.02).sum())
    page.locator("svg.lines text.query").nth(0).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("svg.lines line").count() == int((np.round(weights[0, 2, 1], 3) >= 0.02).sum())


@pytest.fixture(scope="module")
def explorer_address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of an explorer page of three tokens, two layers and two heads."""
    path: Path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page.render(example_exploration.exploration()), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_explorer_follows_a_token_with_the_keyboard_alone(
    browser, explorer_address: str, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True, color_scheme=scheme)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(explorer_address)
    assert page.locator(".step").count() == 4
    assert page.locator(".explorer-token[aria-selected=true]").inner_text().startswith("mat")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    assert page.locator(".explorer-token[aria-selected=true]").inner_text().startswith("the")
    assert "0.500" in page.locator(".step").nth(2).inner_text()
    page.locator(".step details summary").first.click()
    assert len(page.locator(".step details p").first.inner_text().split()) == 9
    page.locator(".explorer-token[aria-selected=true]").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.locator("#layer-name").inner_text() == "2"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.locator("#head-name").inner_text() == "2"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.className") == "step"
    first = page.locator(".step").last.locator(".figure").first.inner_text()
    page.locator("#temperature").fill("2")
    second = page.locator(".step").last.locator(".figure").first.inner_text()
    assert float(second) < float(first)
    page.locator("#sample").press("Enter")
    assert page.locator(".sampled").inner_text() in ("sat", "ran")
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0
    assert problems == []
    context.close()


@pytest.mark.slow
def test_the_keyboard_opens_an_explanation(page) -> None:
    summary = page.locator(".headline .explanation summary").first
    assert "What is" in summary.get_attribute("aria-label")
    text = page.locator(".headline .explanation p").first
    assert text.is_hidden()
    summary.focus()
    page.keyboard.press("Enter")
    expect(text).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("make", ["report", "study", "sweep", "live"])
def test_nothing_is_wider_than_a_narrow_screen(browser, tmp_path: Path, make: str) -> None:
    """Also with every disclosure open. What does not fit scrolls in a box of its own, which says where there is more."""
    pages = {
        "report": lambda: report_page.render(example_report.report()),
        "study": lambda: study_page.render(example_study.study()),
        "sweep": lambda: study_page.render(example_study.sweep()),
        "live": lambda: live_page.render(LIVE),
    }
    path = tmp_path / "page.html"
    path.write_text(pages[make](), encoding="utf-8")
    page = browser.new_page(viewport={"width": 375, "height": 800})
    page.goto(path.as_uri())
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()
    widths = page.locator("html").evaluate("html => [html.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]
    boxes = page.locator(".scroll").evaluate_all(
        "all => all.filter(box => box.offsetParent)"
        ".map(box => [box.scrollWidth > box.clientWidth + 2, box.dataset.more || '', box.tabIndex])"
    )
    assert boxes
    for scrolls, more, tab_index in boxes:
        assert bool(more) == scrolls
        assert (tab_index == 0) == scrolls
    page.close()
