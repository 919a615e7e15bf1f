"""The live view of a run in a real browser: what its buttons send."""

import json

from glasshouse.pages import live_page
from glasshouse.results.index import LiveRun
from tests import needs

STOPPED = LiveRun("runs/a", "a", "", "interrupted", "It can be resumed.", 0.5, (), (), actions=("resume",))


def test_a_button_that_is_pressed_twice_sends_one_request() -> None:
    playwright = needs.package("playwright.sync_api")
    sent: list = []

    def answer(route) -> None:
        path = route.request.url.partition("?")[0]
        if route.request.method == "POST":
            sent.append(route)  # the answer comes later
        elif path.endswith("/part"):
            route.fulfill(
                body=json.dumps({"version": "1", "html": live_page.render_part(STOPPED)}), content_type="application/json"
            )
        else:
            route.fulfill(body=live_page.render(STOPPED), content_type="text/html")

    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=needs.chromium(), args=needs.CHROMIUM_FLAGS)
        page = browser.new_page()
        page.route("**/*", answer)
        page.goto("http://glasshouse.test/run?token=0123456789abcdef&key=runs/a")
        resume = page.get_by_role("button", name="Resume")
        resume.focus()
        with page.expect_request(lambda request: request.method == "POST"):
            page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        resume.dispatch_event("click")
        assert resume.get_attribute("aria-disabled") == "true"
        assert len(sent) == 1
        # The server refuses it and says that the button is possible as before, so it can be pressed again.
        sent[0].fulfill(status=409, body="not now")
        page.locator("#answer", has_text="not now").wait_for()
        page.locator("[data-action=resume]:not([aria-disabled])").wait_for()
        playwright.expect(resume).to_be_focused()
        page.keyboard.press("Enter")
        playwright.expect(page.locator("[data-action=resume]")).to_have_attribute("aria-disabled", "true")
        assert len(sent) == 2
        browser.close()
