"""All laws on the same measurements: they agree where the data are rich, and say so where they are thin."""

import numpy as np
import pytest

from glasshouse.scaling import measurements, scaling_fit
from glasshouse.scaling.measurements import MeasuredLosses
from glasshouse.specs.errors import DataError
from tests import needs

from .known_law import LAW, curves, draw


def test_laws_agree_on_rich_data_and_widen_beyond_them():
    found = scaling_fit.fit_laws(draw(0), resamples=200)
    assert list(found.size_exponents()) == [scaling_fit.ISOFLOP, scaling_fit.PARAMETRIC]
    for exponent in found.size_exponents().values():
        assert exponent.low < LAW.size_exponent < exponent.high
    assert found.flops_factor == pytest.approx(6)
    near, far = found.predict(1e17), found.predict(1e21)
    for close, distant in zip(near, far, strict=True):
        assert distant.parameters.high / distant.parameters.low > close.parameters.high / close.parameters.low
    size = LAW.best_parameters(1e17 / 6)
    assert near[1].parameters.low < size < near[1].parameters.high
    assert near[1].loss is not None
    assert near[1].loss.value == pytest.approx(LAW.loss(size, 1e17 / 6 / size), rel=0.01)


def test_curves_need_budgets_and_get_an_envelope():
    table = curves(0)
    with pytest.raises(DataError) as caught:
        scaling_fit.fit_laws(table)
    assert isinstance(caught.value, DataError)
    found = scaling_fit.fit_laws(table, [3e16, 1e17, 3e17], resamples=50)
    assert scaling_fit.ENVELOPE in found.size_exponents()
    assert any("learning rate" in note for note in found.notes)


def test_measurements_without_equal_budgets_have_the_parametric_law_alone():
    table = draw(0, noise=0.002, seeds=1)
    factor = np.exp(np.random.default_rng(0).uniform(-1, 1, len(table)))
    spread = MeasuredLosses(
        table.parameters,
        table.tokens * factor,
        np.geomspace(1e15, 1e20, len(table)),
        LAW.loss(table.parameters, table.tokens * factor),
        table.runs,
    )
    found = scaling_fit.fit_laws(spread, resamples=20)
    assert found.isoflop is None
    assert any("IsoFLOP" in note for note in found.notes)
    assert any("varies" in note for note in found.notes)


def test_planned_budgets_group_the_runs_whatever_they_cost():
    table = draw(0)
    uneven = MeasuredLosses(
        table.parameters,
        table.tokens,
        table.flops * (1 + 0.5 * (table.parameters > 3e6)),
        table.losses,
        table.runs,
        table.flops,
    )
    found = scaling_fit.fit_laws(uneven, resamples=20)
    assert found.isoflop is not None
    assert len(found.isoflop.parabolas) == 6


def test_two_sizes_give_no_law_at_all():
    table = draw(0)
    sizes = np.resize([1e6, 1e8], len(table))
    two = MeasuredLosses(sizes, table.flops / 6 / sizes, table.flops, LAW.loss(sizes, table.flops / 6 / sizes), table.runs)
    with pytest.raises(DataError) as caught:
        scaling_fit.fit_laws(two, resamples=20)
    assert isinstance(caught.value, DataError)


def test_repeated_data_are_compared_with_new_ones():
    found = scaling_fit.fit_laws(draw(0), different_tokens=1e6, resamples=20)
    assert found.repeated is not None
    assert any("prefer" in note for note in found.notes)
    assert len(found.predict(1e18, 1e6)) == 3


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_must_be_above_zero(budget):
    with pytest.raises(DataError) as caught:
        scaling_fit.check_budget(budget)
    assert isinstance(caught.value, DataError)
    with pytest.raises(DataError):
        scaling_fit.parse_budgets("1e10,x")


def test_public_curves_of_a_translation_task():
    """Others read exponents of 0.435 and 0.39 from these curves, and from a plot 1e10 parameters for 1e15 FLOPs."""
    table = measurements.read_csv(
        needs.data("isoflop/piglatin_decoder_runs.csv"),
        "params_non_embedding",
        "tokens_millions_cumulative*1e6",
        "val_loss",
        "train_tflops_cumulative*1e12",
        "hidden_size",
    )
    found = scaling_fit.fit_laws(table, [8e10, 1.6e11, 3.2e11, 6.4e11, 1.28e12])
    exponent = found.size_exponents()[scaling_fit.ISOFLOP]
    assert exponent.low < 0.39 < 0.435 < exponent.high
    assert any("only" in note for note in found.notes)
    predicted = found.predict(1e15)[0].parameters
    assert 1e6 < predicted.value < 1e7
    assert predicted.high < 1e10
