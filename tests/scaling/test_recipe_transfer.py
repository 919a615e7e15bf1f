"""How much compute is a recipe worth? Measurements are drawn from two laws whose multiplier is known.

Which studies can be compared: the same metric, data and tokenizer.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from glasshouse.scaling import loss_frontier, recipe_transfer, scaling_fit
from glasshouse.scaling.recipe_transfer import RecipeTransfer
from glasshouse.scaling.regression import LawEstimate
from glasshouse.scaling.scaling_fit import ScalingFit
from glasshouse.specs.errors import DataError, RunError
from tests.refusals import refused

from .known_law import BUDGETS, LAW, better_law, draw, uneven
from .small_studies import write_study

SIMULATIONS = 20


@cache
def fitted(seed: int, factor: float = 1.0, growth: float = 0.0, noise: float = 0.002, budgets=BUDGETS) -> ScalingFit:
    # The random numbers of the resamples are not those of the noise.
    table = draw(seed, noise, 1, budgets=budgets, law=better_law(factor, growth))
    return scaling_fit.fit_laws(table, resamples=60, seed=seed + 10**6)


def compared(seed: int, factor: float, growth: float = 0.0, noise: float = 0.002) -> RecipeTransfer:
    return recipe_transfer.compare(fitted(2 * seed, noise=noise), fitted(2 * seed + 1, factor, growth, noise))


def contains(interval: LawEstimate, value: float) -> bool:
    return interval.low <= value <= interval.high


@pytest.mark.slow
def test_intervals_contain_the_known_multiplier_in_most_simulations():
    factor, growth = 2.0, 0.15
    held: dict[tuple[str, str], list[bool]] = {}
    for seed in range(SIMULATIONS):
        for found in compared(seed, factor, growth).methods:
            truths = {
                "low": (found.low.ratio, factor),
                "high": (found.high.ratio, factor * (BUDGETS[-1] / BUDGETS[0]) ** growth),
                "growth": (found.growth, (BUDGETS[-1] / BUDGETS[0]) ** growth),
                "tenfold": (found.per_tenfold, 10**growth),
            }
            for name, (interval, truth) in truths.items():
                held.setdefault((found.method, name), []).append(contains(interval, truth))
    assert len(held) == 8
    for key, values in held.items():
        # With a true share of 95 %, fewer than 15 of 20 have a probability below 0.1 %.
        assert sum(values) >= 15, (key, values)
    assert np.mean([value for values in held.values() for value in values]) >= 0.85


def test_growth_is_found_when_it_grows():
    found = compared(0, 1.5, 0.3)
    for method, verdict in zip(found.methods, found.verdicts, strict=True):
        assert "B needs less compute than A for the same loss, and the advantage grows with scale" in verdict
        assert recipe_transfer.decided(method.growth) == 1
    assert "extrapolates A to" in found.verdicts[0]
    # The same the other way round: the roles change, and A is measured where B is worth less.
    turned = recipe_transfer.compare(fitted(1, 1.5, 0.3), fitted(0), "new", "old")
    assert all(
        "new needs less compute than old for the same loss, and the advantage grows" in text for text in turned.verdicts
    )
    assert "of its smallest measured compute" in turned.verdicts[1]


@pytest.mark.slow
def test_a_constant_advantage_is_not_called_growing():
    undecided = [recipe_transfer.decided(method.growth) == 0 for seed in range(6) for method in compared(seed, 2.0).methods]
    assert sum(undecided) >= 9
    assert any("whether the advantage grows with scale is not decided" in text for text in compared(0, 2.0).verdicts)


def test_no_difference_is_shown_where_there_is_none():
    same = [text for seed in range(3) for text in compared(seed, 1.0).verdicts]
    assert sum("No difference in compute between A and B is shown" in text for text in same) >= 4


def test_curves_that_cross_and_advantages_that_shrink():
    crossing = recipe_transfer.compare(fitted(0), fitted(3, 0.4, 0.5))
    assert all("A needs less compute at 1e+15 FLOPs, and B at 3.2e+16 FLOPs" in text for text in crossing.verdicts)
    shrinking = recipe_transfer.compare(fitted(0), fitted(3, 4.0, -0.25))
    assert all(
        "B needs less compute than A for the same loss, and the advantage shrinks" in text for text in shrinking.verdicts
    )

    one_end = recipe_transfer.compare(fitted(0), fitted(3, 2.0, -0.2))
    assert all(
        "B needs less compute than A at 1e+15 FLOPs, no difference is shown at 3.2e+16 FLOPs, and the advantage shrinks"
        in text
        for text in one_end.verdicts
    ), one_end.verdicts


def test_a_law_that_does_not_fit_compares_nothing():
    found = recipe_transfer.compare(fitted(0), scaling_fit.fit_laws(uneven(3), resamples=60, seed=9))
    assert [method.method for method in found.methods] == [scaling_fit.ISOFLOP]
    assert "no comparison by the method parametric, because B cannot be fitted by it" in found.notes


def test_a_loss_below_the_floor_of_a_has_an_infinite_multiplier():
    lower = draw(1, 0.002, 1, law=replace(better_law(1e4), floor=0.05))
    found = recipe_transfer.compare(fitted(0), scaling_fit.fit_laws(lower, resamples=60, seed=7)).methods[1]
    assert found.high.ratio == LawEstimate(np.inf, np.inf, np.inf)
    assert found.extrapolation == np.inf
    verdict = recipe_transfer.RecipeTransfer("A", "B", [found], ()).verdicts[0]
    assert "infinitely many times the compute" in verdict
    assert "A never reaches the loss" in verdict
    assert "nan" not in verdict


def test_infinite_and_unknown_resamples_widen_the_interval():
    usual = np.linspace(-0.1, 0.1, 1000)
    some = recipe_transfer._estimate(np.array([0.0, *usual, *[np.inf] * 60]), 50)
    assert 0.9 < some.low < some.value == 1.0
    assert some.high == np.inf
    assert recipe_transfer.ratio_interval(some).startswith("1.00 (more than 0.9")
    unknown = recipe_transfer._estimate(np.array([0.0, *usual, *[np.nan] * 60]), 50)
    assert (unknown.low, unknown.high) == (0.0, np.inf)
    assert recipe_transfer.decided(unknown) == 0
    assert recipe_transfer.ratio_interval(unknown) == "1.00 (the interval has no bounds)"
    assert recipe_transfer.ratio_interval(LawEstimate(np.inf, 2.0, np.inf), " times") == "more than 2.00 times"
    assert recipe_transfer.ratio_interval(LawEstimate(np.nan, 0.0, np.inf)) == "unknown"


def test_the_range_is_the_compute_that_both_measured():
    later = tuple(budget * 4 for budget in BUDGETS)
    found = recipe_transfer.compare(fitted(0), fitted(1, 2.0, budgets=later))
    for method in found.methods:
        assert (method.low.flops, method.high.flops) == pytest.approx((later[0], BUDGETS[-1]))
        assert method.extrapolation == pytest.approx(2, rel=0.3)
    far = tuple(budget * 1e3 for budget in BUDGETS)
    with refused(DataError, "1e+15 to 3.2e+16", "1e+18"):
        recipe_transfer.compare(fitted(0), fitted(1, 2.0, budgets=far))


@pytest.mark.slow
def test_repeated_data_have_their_own_frontier():
    law, different = replace(LAW, repetitions=3.0), 2e7
    fits = []
    for seed in (0, 1):
        table = draw(seed, 0.002, 1)
        size = table.parameters, table.tokens
        losses = table.losses / LAW.loss(*size) * law.loss(*size, different)
        fits.append(scaling_fit.fit_laws(replace(table, losses=losses), None, different, 60, seed))
    found = recipe_transfer.compare(fits[0], fits[1]).methods[-1]
    assert isinstance(found.curves[0].frontier, loss_frontier.RepeatedFrontier)
    assert contains(found.low.ratio, 1.0)
    assert contains(found.high.ratio, 1.0)


def test_one_method_is_enough_and_none_is_refused():
    one = recipe_transfer.compare(replace(fitted(0), isoflop=None), fitted(1))
    assert [method.method for method in one.methods] == [scaling_fit.PARAMETRIC]
    assert any("no comparison by the method IsoFLOP, because A" in note for note in one.notes)
    with refused(DataError):
        recipe_transfer.compare(fitted(0), replace(fitted(1), isoflop=None, parametric=None))


def test_methods_that_disagree_are_told():
    found = compared(0, 2.0)
    first, second = found.methods
    other = replace(second, places=[replace(place, ratio=LawEstimate(9.0, 8.0, 10.0)) for place in second.places])
    assert not recipe_transfer._disagree(first, second)
    assert recipe_transfer._disagree(first, other)


def test_the_law_of_the_tests_has_the_multiplier_that_it_claims():
    law = better_law(3.0, 0.2)
    for flops in BUDGETS:
        losses = []
        for each, compute in ((law, flops), (LAW, 3 * flops * (flops / BUDGETS[0]) ** 0.2)):
            size = each.best_parameters(compute / 6)
            losses.append(each.loss(size, compute / 6 / size))
        assert losses[0] == pytest.approx(losses[1])
    assert loss_frontier.METHODS == (scaling_fit.ISOFLOP, scaling_fit.PARAMETRIC)


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    return tmp_path / "studies"


def test_recipes_on_the_same_data_are_compared(studies):
    write_study(studies / "a", "model.norm=layer")
    write_study(studies / "b", "model.norm=rms")
    assert recipe_transfer.check_sources("a", "b") == []
    write_study(studies / "longer", "data.context=32")
    [note] = recipe_transfer.check_sources("a", "longer")
    assert "the contexts differ" in note
    write_study(studies / "older", data=None)
    [note] = recipe_transfer.check_sources("a", "older")
    assert "not known" in note


def test_losses_that_are_not_comparable_are_refused(studies):
    write_study(studies / "a", "data.vocabulary=64")
    write_study(studies / "words", "data.tokenizer=byte-pair", "data.vocabulary=512")
    write_study(studies / "other", data="other")
    write_study(studies / "test", metric="test.loss")
    write_study(studies / "classes", "data.files=mine.tsv", recipe="classifier")
    with refused(DataError, "data.vocabulary=64", "data.vocabulary=512", "words"):
        recipe_transfer.check_sources("a", "words")
    with refused(DataError, "other"):
        recipe_transfer.check_sources("a", "other")
    with refused(DataError, "test.loss", "validation.loss"):
        recipe_transfer.check_sources("a", "test")
    with refused(DataError, "classes"):
        recipe_transfer.check_sources("a", "classes")
    with refused(DataError, "a"):
        recipe_transfer.check_sources("a", studies / "a")
    with refused(RunError, "none"):
        recipe_transfer.check_sources("a", "none")


def test_the_loss_of_classes_does_not_depend_on_the_tokenizer(studies):
    write_study(studies / "a", "data.files=mine.tsv", recipe="classifier")
    write_study(studies / "b", "data.files=mine.tsv", "data.vocabulary=128", recipe="classifier")
    assert recipe_transfer.check_sources("a", "b") == []


def test_a_file_cannot_be_checked(studies, tmp_path):
    write_study(studies / "a")
    for name in ("x.csv", "y.csv"):
        (tmp_path / name).write_text("N,D,L\n")
    [note] = recipe_transfer.check_sources("a", tmp_path / "x.csv")
    assert note.startswith("x.csv: nothing tells")
    [note] = recipe_transfer.check_sources(tmp_path / "x.csv", tmp_path / "y.csv")
    assert note.startswith("x.csv and y.csv")
    with refused(DataError):
        recipe_transfer.check_sources(tmp_path / "x.csv", tmp_path / "." / "x.csv")
