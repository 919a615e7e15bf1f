"""Is a run compute-optimal?"""

from dataclasses import replace

import pytest

from glasshouse.scaling import compute_optimal, scaling_fit
from glasshouse.scaling.compute_optimal import TrainedSize
from glasshouse.specs.errors import DataError

from .known_law import LAW, draw, uneven


@pytest.fixture(scope="module")
def fit():
    return scaling_fit.fit_laws(draw(0), resamples=200)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(8.0, "too large"), (1.0, "is close to compute-optimal"), (0.1, "too small")],
)
def test_the_verdict_follows_the_ratio(fit, factor, words):
    product = 1e16 / 6
    size = LAW.best_parameters(product) * factor
    for check in compute_optimal.check_size(fit, TrainedSize(size, product / size)):
        assert check.ratio.low < check.ratio.value < check.ratio.high
        assert check.ratio.value == pytest.approx(factor, rel=0.25)
        assert words in check.verdict
        longer = check.longer * size * product / size
        assert LAW.best_parameters(longer) == pytest.approx(size, rel=0.3)
        assert ("times longer" in check.verdict) == (factor == 8)
        assert ("times larger" in check.verdict) == (factor == 0.1)
        assert check.flops == pytest.approx(1e16)
        assert check.best.parameters * check.best.tokens == pytest.approx(product, rel=0.02)
        best = LAW.best_parameters(product)
        gain = LAW.loss(size, product / size) - LAW.loss(best, product / best)
        assert check.gain is not None
        assert check.gain.value == pytest.approx(gain, abs=0.02)


def test_a_law_that_does_not_fit_gives_no_verdict():
    fit = scaling_fit.fit_laws(uneven(), resamples=60)
    [check] = compute_optimal.check_size(fit, TrainedSize(1e8, 1e9))
    assert check.law == scaling_fit.ISOFLOP
    assert check.gain is None
    # Without another law it is better than nothing: the notes say that it does not fit.
    alone = replace(fit, isoflop=None)
    assert [each.law for each in compute_optimal.check_size(alone, TrainedSize(1e8, 1e9))] == [scaling_fit.PARAMETRIC]
    assert any("does not fit" in note for note in alone.notes)


def test_thin_data_do_not_decide():
    fit = scaling_fit.fit_laws(draw(0, noise=0.05, seeds=1), [1e15, 8e15, 3.2e16], resamples=200)
    product = 1e16 / 6
    size = 1.5 * LAW.best_parameters(product)
    assert any(
        "is not decided" in check.verdict for check in compute_optimal.check_size(fit, TrainedSize(size, product / size))
    )


def test_parameters_of_a_run_are_counted_in_three_ways():
    tied = {"parameters": {"embedding": 1000, "position": 50, "blocks: attention": 400, "final norm": 8}, "tokens": 77}
    own = {"parameters": {"embedding": 1000, "blocks: attention": 400, "head": 1010}, "tokens": 77}
    sizes = [[compute_optimal.size_of_run(plan, how).parameters for how in compute_optimal.COUNTS] for plan in (tied, own)]
    assert sizes == [[1458, 408, 1408], [2410, 400, 1410]]
    assert compute_optimal.size_of_run(tied).tokens == 77


def test_missing_and_impossible_sizes_are_refused(fit):
    for bad, code in ((({}, "all"), DataError), (({"parameters": {}, "tokens": 1}, "some"), DataError)):
        with pytest.raises(DataError) as caught:
            compute_optimal.size_of_run(*bad)
        assert isinstance(caught.value, code)
    with pytest.raises(DataError) as caught:
        compute_optimal.check_size(fit, TrainedSize(-1, 10))
    assert isinstance(caught.value, DataError)
