"""The page of all claims as one HTML file that works offline: an index by groups, and a section for each claim."""

from collections.abc import Sequence

from glasshouse.pages import claim_pages, claim_text, template
from glasshouse.pages.claim_pages import ABOUT, LEGEND, SEEDS
from glasshouse.pages.claim_pictures import pictures
from glasshouse.results.claim import Case

STYLES = ("page.css", "study.css", "claims.css")


def render(cases: Sequence[Case], groups: Sequence[str]) -> str:
    """The HTML page."""
    claims = [case for case in cases if not case.is_control]
    return template.fill(
        "claims.html",
        STYLES,
        about=ABOUT,
        legend=f"{LEGEND} {SEEDS}",
        groups=groups,
        cases=cases,
        counts=claim_text.verdict_counts(claims),
        replication=claim_pages.replication_summary(claims),
        text=claim_text,
        pages=claim_pages,
        pictures={case.name: pictures(case) for case in cases},
        data_url=lambda svg: template.data_url(svg.encode(), "image/svg+xml"),
    )
