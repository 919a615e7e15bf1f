"""A study's page, pictures and tables: whole, offline, escaped, and standing whatever is missing or odd."""

import dataclasses
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from glasshouse.metrics.verdicts import VerdictRule
from glasshouse.pages import study_curves, study_differences, study_sweep, study_tables, study_text
from glasshouse.pages.study_content import StudyResults
from glasshouse.pages.study_page import draw, render
from tests.refusals import refused

from . import study_example as example
from .test_browser import browser  # noqa: F401
from .test_report import Outline


def without_seeds() -> StudyResults:
    """The first arm lost every seed, so that nothing can be compared."""
    first, *others = example.study().arms
    lost = example.arm(first.name, first.changes, 2.4, diverged=first.seeds)
    return dataclasses.replace(example.study(), arms=example.judged([lost, *others], margin=math.nan))


def unstarted() -> StudyResults:
    arms = [
        dataclasses.replace(arm, values={}, curves={}, summary=None, difference=None, steps=0, seconds=math.nan)
        for arm in example.study().arms
    ]
    return dataclasses.replace(example.study(), status="interrupted", arms=tuple(arms), created=math.nan)


ODD = {
    "one seed": lambda: example.study(seeds=1),
    "two seeds": lambda: example.study(seeds=2, points=1),
    "first arm lost": without_seeds,
    "twenty arms": example.crowd,
    "one arm": lambda: dataclasses.replace(example.study(), arms=example.study().arms[:1]),
    "no arm": lambda: dataclasses.replace(example.study(), arms=()),
    "nothing done": unstarted,
    "tiny": lambda: example.scaled(1e-12),
    "huge": lambda: example.scaled(1e12),
    "enormous": lambda: example.scaled(1e120),
    "all the same": lambda: example.scaled(0.0),
    "negative": lambda: example.scaled(-1.0),
    "names": example.nasty,
    "sweep": example.sweep,
    "sweep of one": lambda: example.sweep(1),
}


def test_the_page_is_whole_and_asks_nothing_of_the_network() -> None:
    page = render(example.study())
    outline = Outline(page)
    for _, attributes in outline.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert (attributes.get(name) or "data:").startswith("data:")
    assert {tag for tag, _ in outline.elements}.isdisjoint({"link", "iframe", "object", "embed", "form", "base"})
    assert "@import" not in page
    assert "url(" not in page
    assert set(re.findall(r"https?://[^\s\"']*", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page


def test_what_was_compared_and_found_is_said() -> None:
    study = example.study()
    words = Outline(render(study)).text
    for arm in study.arms[1:]:
        assert arm.difference is not None
        assert arm.difference.sentence in words
    for sign in ("✓ better", "✗ worse", "= no difference", "? undecided"):
        assert sign in re.sub(r"\s+", " ", words)
    assert "model.position of the recipe speech-lm: learned, sinusoidal, alibi, rotary and none, 16 seeds each" in words
    assert "lower is better" in words
    assert "±0.035 (one standard deviation between the seeds of learned), alpha is 0.05" in words
    assert "seeds 3 and 11 diverged" in words
    assert "14 of 16" in words
    assert "Still running" not in words
    for line in (*study.notes, study.command, *study.machine.values(), study_tables.latex(study), "2025-11-15"):
        assert line in words


def test_recipes_can_be_the_arms() -> None:
    arms = [dataclasses.replace(arm, changes={}) for arm in example.study().arms[:2]]
    recipes = dataclasses.replace(example.study(), recipe="learned and sinusoidal", arms=tuple(arms), curve="loss")
    assert study_text.statement(recipes)[0] == "learned and sinusoidal, 16 seeds each, matched by steps."
    assert "training loss" in Outline(render(recipes)).text


def test_a_study_that_runs_says_so() -> None:
    words = Outline(render(example.crowd())).text
    assert "Still running: 115 of 120 runs are done." in words
    assert "Not final: 115 of 120 runs are done." in study_tables.markdown(example.crowd())
    sequential = dataclasses.replace(example.study(), rule=VerdictRule(margin=0.1, looks=(8, 16)), higher_is_better=True)
    words = Outline(render(sequential)).text
    assert "judged after 8 and 16 seeds" in words
    assert "(given)" in words
    assert "← worse" in words


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_what_is_missing_or_odd_is_borne(make) -> None:  # type: ignore[no-untyped-def]
    study = make()
    page = render(study)
    outline = Outline(page)
    assert not re.search(r"\bnan\b|\binf\b", outline.text)
    for drawing in (study_differences.differences(study), study_curves.curves(study).drawing):
        # The parser stands for XML 1.0, which has no NUL; the page puts a stand-in for it.
        ElementTree.fromstring(drawing.replace("\0", ""))
        assert not re.search(r'[ "ML]-?(nan|inf)', drawing)
    study_tables.markdown(study)
    study_tables.latex(study)


@pytest.mark.parametrize("name", ["one seed", "first arm lost", "one arm", "nothing done", "enormous", "names"])
def test_a_picture_is_drawn_of_what_there_is(name: str, tmp_path: Path) -> None:
    draw(ODD[name](), tmp_path / "study.svg")
    assert (tmp_path / "study.svg").stat().st_size > 1000


def test_an_arm_without_a_result_says_why() -> None:
    words = Outline(render(example.crowd())).text
    assert "number 4 of twenty-one: every seed diverged" in words
    words = Outline(render(without_seeds())).text
    assert "learned: every seed diverged" in words
    assert "rotary: no seed has come through both here and in learned" in words
    alone = [dataclasses.replace(arm, difference=None) for arm in example.study(seeds=1).arms]
    words = Outline(render(dataclasses.replace(example.study(), arms=tuple(alone)))).text
    assert "rotary: too few seeds have come through both here and in learned to judge by" in words


def test_every_pair_of_seeds_is_a_dot_and_the_margin_a_band() -> None:
    study = example.study()
    rows = [
        group
        for group in ElementTree.fromstring(study_differences.differences(study)).iter("g")
        if "row" in group.attrib["class"].split()
    ]
    dots = [next(p for p in row.iter("path") if p.attrib["class"] == "seeds").attrib["d"].count("M") for row in rows]
    assert dots == [16, 16, 16, 14]
    low, high = study_differences.limits(study) or (0, 0)
    assert low < -0.14
    assert high > 0.2
    root = ElementTree.fromstring(study_differences.differences(study))
    band = next(rect for rect in root.iter("rect") if rect.attrib["class"] == "band")
    zero = next(path for path in root.iter("path") if path.attrib["class"] == "zero")
    middle = float(band.attrib["x"]) + float(band.attrib["width"]) / 2
    assert abs(middle - float(zero.attrib["d"][1:].split()[0])) < 0.2


def test_an_arm_far_out_leaves_the_picture_with_its_value() -> None:
    crowd = example.crowd()
    limits = study_differences.limits(crowd)
    assert limits is not None
    assert limits[1] < 0.3
    assert "+9.400×10⁸" in study_differences.differences(crowd)
    assert "number 7 of twenty-one lies beyond the edge (every seed)" in " ".join(study_differences.remarks(crowd))
    assert study_curves.far(study_curves.fans(crowd)) == {7}
    # Where most arms are far from the first, none is left out.
    assert study_differences.without_far([0.02, 5.0, 5.1, 5.2]) == 5.2


def test_the_mean_is_of_the_seeds_that_came_through() -> None:
    arm = example.study().arms[-1]
    steps, values = study_curves.mean(arm)
    sound = [[value for _, value in arm.curves[seed]] for seed in arm.seeds if seed not in arm.diverged]
    np.testing.assert_allclose(values, np.mean(sound, axis=0))
    assert steps[-1] == 3000
    ends = study_curves.ends(study_curves.fans(example.study())[-1])
    assert len(ends) == 2
    assert all(step < 3000 for step, _ in ends)
    # The axis is that of the seeds that came through.
    assert study_curves.ranges(study_curves.fans(example.study()))["linear"].high < 7


def test_many_seeds_make_a_page_that_can_be_sent() -> None:
    study = example.study(seeds=128, points=200)
    panel = study_curves.curves(study)
    assert "at most 24 seeds are drawn" in " ".join(panel.remarks)
    data = json.loads(ElementTree.fromstring(panel.drawing).attrib["data-chart"])
    assert [curve["name"] for curve in data["curves"]] == ["learned", "sinusoidal", "alibi", "rotary", "none"]
    # Diverged seeds are among those drawn.
    assert {3, 11} <= set(study_curves.fans(study)[-1].seeds)
    assert len(render(study).encode()) < 1_000_000


def test_arms_are_told_apart_without_colour_too() -> None:
    looks = study_differences.styles(20)
    assert len(set(looks)) == 20
    assert (looks[0].tone, looks[0].dash) == ("quiet", 0)


def test_a_sweep_of_one_field_is_a_line_on_the_axis_its_values_ask_for() -> None:
    found = study_sweep.sweep(example.sweep(1))
    assert found is not None
    assert found.grid is None
    assert found.best.startswith("learning_rate=0.0027: ")
    root = ElementTree.fromstring(found.lines[0][1])
    line = next(path.attrib["d"] for path in root.iter("path") if path.attrib.get("class") == "line")
    across = [float(point.split()[0]) for point in re.split("[ML]", line)[1:]]
    gaps = np.diff(across)
    assert len(across) == 8
    assert gaps.max() < 1.1 * gaps.min()
    assert [text.text for text in root.iter("text") if text.attrib.get("class") == "lost"] == ["✗2"]
    assert study_sweep.logarithmic((1, 2, 4, 8))
    assert not study_sweep.logarithmic((0, 0.1, 0.2))
    assert not study_sweep.logarithmic((1, 2, 3, 4))
    assert study_sweep.sweep(example.study()) is None


def test_a_sweep_of_two_fields_is_a_grid_with_its_best_cell() -> None:
    study = example.sweep()
    found = study_sweep.sweep(study)
    assert found is not None
    assert found.grid is not None
    assert found.grid.across.values == ("0", "0.1")
    assert [value for value, _ in found.grid.rows][:2] == ["0.0001", "0.00019"]
    cells = [cell for _, row in found.grid.rows for cell in row]
    means = [arm.summary.mean for arm in study.arms if arm.summary]
    assert [cell.best for cell in cells].index(True) == int(np.argmin(means))
    assert sum(cell.best for cell in cells) == 1
    order = np.argsort(means)
    shades = [cells[place].shade for place in order]
    assert shades == sorted(shades, reverse=True)
    assert (shades[0], shades[-1]) == (5, 0)
    higher = study_sweep.sweep(dataclasses.replace(study, higher_is_better=True))
    assert higher is not None
    assert higher.best.startswith("learning_rate=0.0001, weight_decay=0:")


def test_a_third_field_makes_a_line_for_each() -> None:
    study = example.sweep()
    arms = tuple(
        dataclasses.replace(arm, changes={**arm.changes, "model.layers": str(2 + place % 3)})
        for place, arm in enumerate(study.arms)
    )
    found = study_sweep.sweep(dataclasses.replace(study, arms=arms))
    assert found is not None
    assert found.several
    assert [name for name, _ in found.lines] == ["training.learning_rate", "model.layers"]


def test_text_is_shown_as_text() -> None:
    page = render(example.nasty())
    outline = Outline(page)
    assert [tag for tag, _ in outline.elements].count("script") == 1
    assert "{{ 7 * 7 }}" in outline.text
    page.encode("utf-8")


def test_the_picture_is_written_by_suffix_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg", "one.png"):
        draw(example.study(seeds=4), tmp_path / name)
    written = (tmp_path / "one.svg").read_text()
    assert written == (tmp_path / "two.svg").read_text()
    for words in ("rotary", "← better", "validation.loss, difference from learned"):
        assert words in written
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    with refused("wrong-suffix"):
        draw(example.study(), tmp_path / "study.pdf")


@pytest.mark.parametrize("width", [1280, 420])
def test_in_a_browser(browser, tmp_path: Path, width: int) -> None:  # type: ignore[no-untyped-def]  # noqa: F811
    path = tmp_path / "study.html"
    path.write_text(render(example.nasty() if width == 420 else example.study()), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, color_scheme="dark")
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if width == 1280:
        chart = page.locator("svg.fan")
        chart.hover()
        assert page.locator("#tooltip .reading").count() == 5
        page.get_by_role("button", name="rotary").click()
        assert page.locator("svg.fan [data-scale=close-up] [data-curve='3']").first.is_hidden()
        page.get_by_role("button", name="log", exact=True).click()
        assert page.locator("svg.fan > [data-scale=log]").is_visible()
        assert page.locator("svg.fan > [data-scale=close-up]").is_hidden()
        page.get_by_text("The table in LaTeX").click()
        button = page.locator("details[open] button.copy")
        button.click()
        page.wait_for_function("document.querySelector('details[open] button.copy').textContent !== 'copy'")
        assert button.inner_text() == "copied"
    assert complaints == []
    context.close()
