"""A comparison of two recipes in words and pictures, and the public function behind it."""

from dataclasses import replace

import numpy as np
import pytest

import glasshouse
from glasshouse.pages import scaling_page, transfer_report
from glasshouse.pages.chart import Dots
from glasshouse.scaling import recipe_transfer, scale_study, scaling_fit
from glasshouse.specs.errors import DataError
from tests.refusals import refused
from tests.scaling.known_law import better_law, draw
from tests.scaling.small_studies import write_study


def test_the_page_answers_and_shows_both_pictures():
    old, new = (scaling_fit.fit_laws(draw(seed, law=better_law(1.0 + seed)), resamples=40, seed=seed) for seed in (0, 1))
    content = transfer_report.content(recipe_transfer.compare(old, new, "old", "a <new> one"))
    assert len(content.answers) == 2
    losses = content.figures[0].chart.series
    assert len({curve.tone for curve in losses}) == 2
    assert [curve.tone for curve in losses[:2]] == [curve.tone for curve in losses[2:]]
    assert [sum(len(mark.x) for mark in curve.marks if isinstance(mark, Dots)) for curve in losses] == [6, 6, 0, 0]
    assert content.tables[0].columns == ("", "IsoFLOP", "parametric")
    page = scaling_page.render(content)
    assert page.count('<svg class="chart"') == 2
    assert "a &lt;new&gt; one needs less compute than old" in page
    assert "nan" not in page


def test_infinite_multipliers_are_drawn_and_named():
    lower = draw(1, law=replace(better_law(1e4), floor=0.05))
    old, new = (scaling_fit.fit_laws(table, resamples=40, seed=seed) for seed, table in enumerate((draw(0), lower)))
    content = transfer_report.content(recipe_transfer.compare(old, new))
    assert any("infinite" in cell for row in content.tables[0].rows for cell in row)
    page = scaling_page.render(content)
    assert page.count('<svg class="chart"') == 2
    assert "nan" not in page


def test_studies_are_compared_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path))
    tables = {"old": draw(0), "new": draw(1, law=better_law(2.0))}
    for name in tables:
        write_study(tmp_path / name)
    monkeypatch.setattr(scale_study, "measured", lambda study: tables[study.name])
    found = glasshouse.scaling.transfer("old", "new", resamples=40)
    assert (found.a, found.b) == ("old", "new")
    assert all("new needs less compute than old" in verdict for verdict in found.verdicts)
    for method in found.methods:
        assert method.low.ratio.value == pytest.approx(2, rel=0.1)
    # The resamples of the two fits are independent.
    rows = [curve.points[0][1][1:] for curve in found.methods[0].curves]
    assert abs(np.corrcoef(*rows)[0, 1]) < 0.6
    page = glasshouse.scaling.write_page(glasshouse.scaling.content(found), tmp_path / "page.html")
    assert "compute multiplier" in page.read_text()
    written = glasshouse.scaling.write_figures(glasshouse.scaling.content(found), tmp_path / "figures")
    assert [path.name for path in written] == ["losses.svg", "multiplier.svg"]
    assert all(path.read_text().startswith("<svg") for path in written)
    assert glasshouse.scaling.list_studies() == ["new", "old"]
    assert glasshouse.scaling.open_study("new").budgets == [1e15]
    with refused(DataError):
        glasshouse.scaling.transfer("old", "old")
