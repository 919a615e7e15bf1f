"""The pictures of a claim, drawn from its deciding trial."""

import xml.etree.ElementTree as ET
from dataclasses import replace

from glasshouse.pages.claim_pictures import pictures
from tests.pages.example_claims import example_case


def test_a_claim_has_its_forest_plots_and_figures():
    case = example_case()
    svgs = pictures(case)
    assert list(svgs) == ["comparisons", "small", "beside", "by-size", "curves"]
    for svg in svgs.values():
        ET.fromstring(svg)
    assert "above one half" in svgs["beside"]
    assert "above one half" not in svgs["comparisons"]
    assert "no text differs" not in svgs["comparisons"], "an exact part has no interval"
    assert svgs["small"].count("<circle") + svgs["small"].count("<polygon") >= 2
    assert pictures(replace(case, trials=())) == {}
