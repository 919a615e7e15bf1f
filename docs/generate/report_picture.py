"""Make docs/report.png, the picture at the top of the README, from the report of a run.

    glasshouse train demo-lm
    python -m docs.generate.report_picture runs/demo-lm

It needs Chromium and the `dev` extra. The left half is the top of the page, the right half has the last samples and the
attention map.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image

# The window of the browser, and the width of its picture, which is smaller.
WIDTH, HEIGHT, SMALL_WIDTH = 1080, 1240, 800
# The section in each half, and how much of the page above it is shown. The empty name is the top of the page.
SECTIONS = {"": 0, "attention": 375}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def picture(report: Path, browser_path: str) -> Image.Image:
    """The page from its top and from each of the sections on, side by side."""
    # Building the rest of the documentation needs no browser.
    from playwright.sync_api import sync_playwright

    whole = Image.new("RGB", (WIDTH * len(SECTIONS), HEIGHT))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.absolute().as_uri())
        for place, (section, above) in enumerate(SECTIONS.items()):
            jump = f"window.scrollTo(0, document.getElementById('{section}').getBoundingClientRect().top - {above})"
            page.evaluate(jump if section else "window.scrollTo(0, 0)")
            whole.paste(Image.open(io.BytesIO(page.screenshot())), (place * WIDTH, 0))
        browser.close()
    small = (SMALL_WIDTH * len(SECTIONS), SMALL_WIDTH * HEIGHT // WIDTH)
    return whole.resize(small, Image.Resampling.LANCZOS).quantize(256, dither=Image.Dither.NONE)


def main() -> None:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    report = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/demo-lm") / "report.html"
    if not found:
        sys.exit("the picture is taken with Chromium, and none is on the path; install chromium")
    if not report.is_file():
        sys.exit(f"there is no {report}; train a run (glasshouse train demo-lm), and name its folder")
    picture(report, found).save(Path(__file__).parent.parent / "report.png", optimize=True)


if __name__ == "__main__":
    main()
