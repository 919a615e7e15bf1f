"""The page of all claims as one HTML file."""

import glasshouse
from glasshouse.claims.claim import GROUPS
from glasshouse.pages import claims_page
from glasshouse.specs.errors import GlasshouseError
from tests.pages.example_claims import example_cases
from tests.refusals import refused


def test_the_page_has_every_verdict_and_works_offline():
    html = claims_page.render(example_cases(), GROUPS)
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
        glasshouse.claims_report(tmp_path / "nowhere" / "claims.html")
