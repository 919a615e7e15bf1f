"""The pages of claims: all in one HTML page, and in Markdown the index by groups and the page of each claim."""

import re

import glasshouse
from glasshouse.claims.claim import GROUPS
from glasshouse.pages import claim_pages
from glasshouse.specs.errors import GlasshouseError
from tests.pages.example_claims import example_cases
from tests.refusals import refused


def test_the_index_lists_every_claim_with_its_answer():
    text = claim_pages.index(example_cases(), GROUPS)
    assert "Of 2 claims: 1 depends, 1 not tried." in text
    assert "1 was tried once more on seeds that were never used, and 1 of them had the same verdict." in text
    assert "| [It is \\<so\\>.](one.md) | **± depends** ✓ ✗ ✓<br>It depends." in text
    assert "![](pictures/one-small.svg)" in text
    assert "| Control: [The control.](control.md) | **± depends**" in text
    assert [group for group in GROUPS if f"## {group}" in text] == list(GROUPS)


def test_a_page_tells_what_was_asserted_done_found_and_what_would_change_it():
    pages = claim_pages.site(example_cases(), GROUPS)
    text = pages["one.md"]
    headings = ["What was asserted", "Why one might think so", "The experiment", "The comparisons", "The verdict"]
    places = [text.index(f"**{heading}") for heading in [*headings, "What would change it"]]
    assert places == sorted(places)
    for content in (
        r"loss \| of \<a\>",
        "- ✓ *reported rate*: a is \\<lower\\>",
        "<details><summary>Comparisons beside these, which do not decide</summary>",
        "- a \\*note\\*",
        "study `sizes`: `demo-lm model.width=16,32`",
        "`glasshouse claim one --seeds 8 --first-seed 1000`",
        "before registration was required: 8 seeds: undecided",
        "![by-size](pictures/one-by-size.svg)",
    ):
        assert content in text
    assert "digest of the plan: `" in text
    assert "two.md" in pages
    assert "No data; run: glasshouse claim two." in pages["two.md"]
    linked = {name for page in pages.values() for name in re.findall(r"\((pictures/[^)]*)\)", page)}
    assert linked == {path for path in pages if path.startswith("pictures/")}


def test_the_page_has_every_verdict_and_works_offline():
    html = claim_pages.render(example_cases(), GROUPS)
    for text in ("± depends", "– not tried", "loss | of &lt;a&gt;", "It is &lt;so&gt;."):
        assert text in html
    assert 'href="#one"' in html
    assert 'id="one"' in html
    assert "data:image/svg+xml;base64," in html
    assert "2023-11-14 22:13 UTC, an abacus" in html
    assert "before registration was required: 8 seeds: undecided" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")


def test_a_page_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    with refused(GlasshouseError):
        glasshouse.claims.claims_report(tmp_path / "nowhere" / "claims.html")
