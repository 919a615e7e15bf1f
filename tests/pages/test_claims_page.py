"""The page of all claims, as HTML and as Markdown."""

import glasshouse
from glasshouse.pages import claims_page
from glasshouse.pages.claim_content import Case, Evidence, Finding, Trial
from tests.refusals import refused


def example_cases() -> list[Case]:
    """One claim with a trial and one without. The texts contain characters that HTML and Markdown must escape."""
    finding = Finding(
        verdict="refuted",
        because="3.1 is <more> than 2 & that is it",
        scope="a page",
        rows=(Evidence("loss | of all", "2", "3.1 ± 0.2 (8 seeds)"), Evidence("time", "", "5 s")),
        studies=("positions",),
        pictures=("curve.svg",),
        notes=("a *note*",),
    )
    trial = Trial(finding, 8, False, 1.7e9, {"processor": "an abacus", "python": "3.11", "torch": "2"})
    texts = ("It is <so>.", "a book", "2", "upheld if below 2", "glasshouse claim one")
    return [Case("one", *texts, trial, (("curve.svg", b"<svg/>"),)), Case("two", *texts, None)]


def test_the_page_has_every_verdict_and_works_offline():
    html = claims_page.render(example_cases())
    for text in ("✗</span> refuted", "–</span> not tried", "3.1 ± 0.2 (8 seeds)", "3.1 is &lt;more&gt; than 2 &amp; that"):
        assert text in html
    assert "It is &lt;so&gt;." in html
    assert 'href="#one"' in html
    assert 'id="one"' in html
    assert "data:image/svg+xml;base64,PHN2Zy8+" in html
    assert "claims/one/positions" in html
    assert "2023-11-14 22:13 UTC, an abacus" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_markdown_has_the_same_content():
    text = claims_page.markdown(example_cases())
    assert "Of 2 claims: 1 refuted, 1 not tried." in text
    assert "| [one](#one) | It is \\<so\\>. | ✗ refuted |" in text
    assert r"| loss \| of all | 2 | 3.1 ± 0.2 (8 seeds) |" in text
    assert "- Note: a \\*note\\*" in text
    assert "**✗ refuted.** 3.1 is \\<more\\> than 2 & that is it" in text
    assert "- Command: `glasshouse claim one`" in text


def test_a_page_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with refused("wrong-suffix"):
        glasshouse.claims_report(tmp_path / "claims.pdf")
