"""Every kind of page passes the accessibility check in a real browser. A page with a known fault does not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from glasshouse.claims.claim import GROUPS
from glasshouse.pages import (
    attention_page,
    claim_pages,
    debate_page,
    explorer_page,
    grid_page,
    index_page,
    playground_page,
    report_page,
    retrieval_page,
    scaling_page,
    scaling_report,
    study_page,
    transfer_report,
)
from glasshouse.results.retrieval import RankedPrompt, Retrieval, Retrieved
from glasshouse.scaling import recipe_transfer, scaling_fit
from glasshouse.scaling.scaling_fit import ScalingFit
from tests import accessibility, needs
from tests.scaling import known_law

from . import (
    example_claims,
    example_exploration,
    example_index,
    example_report,
    example_study,
    test_debate_page,
    test_grid_page,
)


def laws(seed: int) -> ScalingFit:
    """Laws of a study whose losses follow known ones."""
    return scaling_fit.fit_laws(known_law.draw(seed, law=known_law.better_law(1.0 + seed)), resamples=40, seed=seed)


def retrieval() -> Retrieval:
    picture = np.zeros((8, 8, 3), np.uint8)
    found = (Retrieved(picture, "a red circle", 0.5, True), Retrieved(picture, "a square", 0.25, False))
    prompts = (RankedPrompt("a circle", 0.5, 1, 1, found), RankedPrompt("a zebra", 0.25, 2, 3, found, ("zebra",)))
    return Retrieval("a run", picture, "held-out picture 3", "a red circle", prompts, (("a red circle", 0.5),), 20, 20)


PAGES: dict[str, Callable[[], str]] = {
    "index": lambda: index_page.render(example_index.content()),
    "report": lambda: report_page.render(example_report.report()),
    "study": lambda: study_page.render(example_study.checked()),
    "sweep": lambda: study_page.render(example_study.sweep()),
    "claims": lambda: claim_pages.render(example_claims.example_cases(), GROUPS),
    "attention": lambda: attention_page.render(example_report.attention(), "a run"),
    "explorer": lambda: explorer_page.render(example_exploration.exploration()),
    "debate": lambda: debate_page.render(test_debate_page.result("a topic")),
    "scaling": lambda: scaling_page.render(scaling_report.content(laws(0), "a study", 1e18)),
    "transfer": lambda: scaling_page.render(
        transfer_report.content(recipe_transfer.compare(laws(0), laws(1), "old", "new"))
    ),
    "retrieval": lambda: retrieval_page.render(retrieval()),
    "grid": lambda: grid_page.render(*test_grid_page.content()),
    "playground": lambda: playground_page.render(["a run", "another"], [], 100),
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
