"""Correlations of scores with adequacy: equal to other packages, with confidence intervals that respect the sources."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from glasshouse.metrics.adequacy_correlation import correlations


def test_statistics_equal_those_of_other_packages_and_are_within_their_intervals():
    generator = np.random.default_rng(0)
    adequacy = generator.integers(0, 5, 300) / 4
    scores = {"good": adequacy + generator.normal(0, 0.1, 300), "bad": generator.normal(size=300), "inverse": -(adequacy**3)}
    scores["ties"] = scores["good"].round(1)
    results = correlations({**scores, "constant": np.ones(300)}, adequacy)
    assert results.pop("constant") == {}
    for name, statistics in results.items():
        assert statistics["pearson"].value == pytest.approx(stats.pearsonr(scores[name], adequacy).statistic)
        assert statistics["spearman"].value == pytest.approx(stats.spearmanr(scores[name], adequacy).statistic)
        assert statistics["area"].value == pytest.approx(roc_auc_score(adequacy == 1, scores[name]))
        assert all(estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9 for estimate in statistics.values())
    assert results["inverse"]["spearman"].value == pytest.approx(-1)
    assert results["good"]["pearson"].low > 0.9
    assert results["bad"]["pearson"].low < 0 < results["bad"]["pearson"].high
    assert results["bad"]["area"].low < 0.5 < results["bad"]["area"].high
    assert correlations({"good": scores["good"]}, np.ones(300)) == {"good": {}}
    assert set(correlations({"good": scores["good"]}, adequacy / 2)["good"]) == {"pearson", "spearman"}


def test_copies_of_a_source_do_not_narrow_an_interval():
    generator = np.random.default_rng(1)
    truth = generator.normal(size=40)
    score = truth + generator.normal(size=40)

    def pearson(*sources, times=9):
        return correlations({"score": np.tile(score, times)}, np.tile(truth, times), *sources)["score"]["pearson"]

    alone, copied, naive = pearson(times=1), pearson(np.tile(np.arange(40), 9)), pearson()
    assert copied.value == pytest.approx(alone.value)
    assert copied.high - copied.low == pytest.approx(alone.high - alone.low, rel=0.3)
    assert naive.high - naive.low < (copied.high - copied.low) / 2
