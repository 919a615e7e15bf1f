"""The chart of curves: means over finished seeds, and limits on the number of lines."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import numpy as np

from glasshouse.pages import study_curves, svg_chart
from glasshouse.pages.study_page import render

from . import example_study as example


def test_the_mean_curve_is_over_the_finished_seeds() -> None:
    arm = example.study().arms[-1]
    steps, values = study_curves.mean_curve(arm)
    finished = [[value for _, value in arm.curves[seed]] for seed in arm.seeds if seed not in arm.diverged]
    np.testing.assert_allclose(values, np.mean(finished, axis=0))
    assert steps[-1] == 3000
    crosses = study_curves.divergence_points(study_curves.arm_curves(example.study())[-1])
    assert len(crosses) == 2
    assert all(step < 3000 for step, _ in crosses)
    # Diverged seeds do not count towards the range of the axis.
    assert study_curves.value_scales(study_curves.arm_curves(example.study()))["linear"].high < 7


def test_the_training_loss_stands_beside_the_curves() -> None:
    plain = example.study(seeds=4)
    assert study_curves.training_panel(plain) is None
    losses = {seed: [(step, 5.0 - step / 100 - seed / 10) for step in range(0, 300, 5)] for seed in range(4)}
    arms = tuple(dataclasses.replace(arm, training_losses=losses) for arm in plain.arms)
    study = dataclasses.replace(plain, arms=arms)
    panel = study_curves.training_panel(study)
    assert panel is not None
    assert [entry.last for entry in panel.legend] == ["1.9"] * 5
    assert "Training loss and validation" in render(study)
    assert "Training loss and validation" not in render(plain)


def test_a_chart_with_many_seeds_draws_some_of_them() -> None:
    study = example.study(seeds=128, points=200)
    panel = study_curves.panel(study)
    assert "At most 24 seeds of each arm are drawn" in " ".join(panel.remarks)
    data = json.loads(ElementTree.fromstring(svg_chart.draw(panel.chart)).attrib["data-chart"])
    assert [curve["name"] for curve in data["curves"]] == ["learned", "sinusoidal", "alibi", "rotary", "none"]
    # Diverged seeds are drawn first.
    assert {3, 11} <= set(study_curves.arm_curves(study)[-1].seeds)


def test_an_outlying_arm_does_not_count_towards_the_range() -> None:
    assert study_curves.outlying_arms(study_curves.arm_curves(example.many_arms())) == {7}
