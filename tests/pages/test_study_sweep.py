"""The charts of a sweep: a line over one field, a grid over two, a line for each of three."""

import dataclasses

import numpy as np

from glasshouse.pages import study_curves, study_differences, study_page, study_sweep, study_tables
from glasshouse.pages.chart import Line
from glasshouse.results import study_text
from glasshouse.results.study import StudyResults

from . import example_study as example


def test_a_sweep_of_one_field_is_a_line_with_a_suitable_axis() -> None:
    sweep = study_sweep.sweep(example.sweep(1))
    assert sweep is not None
    assert sweep.grid is None
    assert sweep.best.startswith("learning_rate=0.0027: ")
    chart = sweep.lines[0][1]
    line = next(mark for mark in chart.series[0].marks if isinstance(mark, Line))
    gaps = np.diff(chart.x.fractions(line.x))
    assert len(gaps) == 7
    assert gaps.max() < 1.1 * gaps.min()
    assert [text.text for text in chart.texts] == ["✗2"]
    assert study_sweep.log_spaced((1, 2, 4, 8))
    assert not study_sweep.log_spaced((0, 0.1, 0.2))
    assert not study_sweep.log_spaced((1, 2, 3, 4))
    assert study_sweep.sweep(example.study()) is None


def test_a_sweep_of_two_fields_is_a_grid_with_its_best_cell() -> None:
    study = example.sweep()
    sweep = study_sweep.sweep(study)
    assert sweep is not None
    assert sweep.grid is not None
    assert sweep.grid.across.values == ("0", "0.1")
    assert sweep.grid.down.values[:2] == ("0.0001", "0.00019")
    cells = [cell for row in sweep.grid.rows for cell in row]
    means = [arm.summary.mean for arm in study.arms if arm.summary]
    assert [cell.best for cell in cells].index(True) == int(np.argmin(means))
    assert sum(cell.best for cell in cells) == 1
    order = np.argsort(means)
    shades = [cells[index].shade for index in order]
    assert shades == sorted(shades, reverse=True)
    assert (shades[0], shades[-1]) == (5, 0)
    higher = study_sweep.sweep(dataclasses.replace(study, higher_is_better=True))
    assert higher is not None
    assert higher.best.startswith("learning_rate=0.0001, weight_decay=0:")


def test_a_sweep_of_three_fields_is_a_line_for_each_numeric_field() -> None:
    study = example.sweep()
    arms = tuple(
        dataclasses.replace(arm, changes={**arm.changes, "model.layers": str(2 + index % 3)})
        for index, arm in enumerate(study.arms)
    )
    sweep = study_sweep.sweep(dataclasses.replace(study, arms=arms))
    assert sweep is not None
    assert sweep.several_fields
    assert [name for name, _ in sweep.lines] == ["training.learning_rate", "model.layers"]


def with_means(values: dict[str, float], field: str = "training.learning_rate", higher: bool = False) -> StudyResults:
    """A sweep of one field with these means."""
    arms = [example.arm(value, {field: value}, mean, noise=0.0, seeds=4) for value, mean in values.items()]
    return dataclasses.replace(example.study(), arms=tuple(arms), higher_is_better=higher)


def test_a_best_value_at_the_edge_is_warned_of() -> None:
    (warning,) = study_text.edge_warnings(with_means({"1e-4": 3.0, "1e-3": 2.0, "1e-2": 1.0}))
    assert "the best training.learning_rate is 1e-2, the largest that was tried" in warning
    (warning,) = study_text.edge_warnings(with_means({"1e-2": 3.0, "1e-3": 2.0, "1e-4": 1.0}))
    assert "1e-4, the smallest" in warning
    assert study_text.edge_warnings(with_means({"1e-4": 3.0, "1e-3": 1.0, "1e-2": 2.0})) == []
    assert len(study_text.edge_warnings(with_means({"1e-4": 3.0, "1e-3": 1.0, "1e-2": 2.0}, higher=True))) == 1


def test_of_two_values_the_best_is_always_at_an_edge() -> None:
    swept = with_means({"1e-3": 2.0, "1e-2": 1.0})
    (warning,) = study_text.edge_warnings(swept)
    assert "is 1e-2, the largest of the only two that were tried: a larger one may be better still" in warning
    assert study_text.edge_warnings(swept, fewest=3) == []
    assert warning[1:] in study_page.render(dataclasses.replace(swept, edges=(warning,)))


def test_an_edge_needs_numbers_and_zero_is_none() -> None:
    assert study_text.edge_warnings(with_means({"0": 1.0, "0.1": 2.0, "0.2": 3.0}, "model.dropout")) == []
    assert study_text.edge_warnings(with_means({"0": 1.0, "0.1": 2.0}, "model.dropout")) == []
    assert study_text.edge_warnings(with_means({"rotary": 2.0, "alibi": 1.0, "none": 3.0}, "model.position")) == []


def test_arms_are_ordered_by_their_values() -> None:
    arms = with_means({"1e-2": 1.0, "2e-4": 3.0, "1e-3": 2.0}).arms
    assert [arm.name for arm in study_text.in_order_of_values(arms)] == ["2e-4", "1e-3", "1e-2"]
    names = with_means({"rotary": 1.0, "alibi": 3.0, "none": 2.0}, "model.position").arms
    assert [arm.name for arm in study_text.in_order_of_values(names)] == ["rotary", "alibi", "none"]


def test_a_sweep_lists_its_first_arm_by_its_value_everywhere() -> None:
    means = {"1e-2": 1.0, "1e-4": 3.0, "1e-3": 2.0}
    arms = [example.arm(value, {"training.learning_rate": value}, mean, seeds=4) for value, mean in means.items()]
    in_order = tuple(study_text.in_order_of_values(example.with_differences(arms)))
    study = dataclasses.replace(example.study(), first="1e-2", arms=in_order)
    assert study.first_arm.name == "1e-2"
    assert [row.label for row in study_tables.rows(study)] == ["1e-4", "1e-3", "1e-2 (first arm)"]
    assert [entry.name for entry in study_curves.panel(study).legend] == ["1e-4", "1e-3", "1e-2 (first arm)"]
    assert [arm.name for arm, _, _ in study_differences.compared_arms(study)] == ["1e-4", "1e-3"]
    assert study_differences.styles(study)[2].tone == "quiet"
    assert study_differences.differences(study).x_label.endswith("difference from 1e-2")
    page = study_page.render(study)
    assert "compared with the first arm, <b>1e-2</b>" in page
