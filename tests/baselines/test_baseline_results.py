"""A run beside a baseline: paired differences with intervals, the best baseline, the sentence, and the file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.baselines import baseline_results
from glasshouse.baselines.baseline import Baseline
from glasshouse.baselines.baseline_results import BaselineResult, BaselineResults, PairedDifference
from glasshouse.metrics.metric import ACCURACY, BITS_PER_BYTE, MACRO_F1, Metrics
from glasshouse.specs.errors import RunError
from tests.refusals import refused

METRICS = Metrics([ACCURACY, MACRO_F1], headline=("accuracy",))
BITS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=8, max_size=60)


def accuracy(values: np.ndarray, **others: object) -> Baseline:
    return Baseline("one", "one", {"accuracy": float(values.mean())}, values={"accuracy": values.tolist()}, **others)


@given(BITS)
def test_the_interval_holds_the_difference_and_swapping_the_sides_mirrors_it(pairs: list[tuple[bool, bool]]) -> None:
    own, other = (np.array(side, float) for side in zip(*pairs, strict=True))
    there = baseline_results.paired_difference("accuracy", float(own.mean()), accuracy(other), {"accuracy": own})
    back = baseline_results.paired_difference("accuracy", float(other.mean()), accuracy(own), {"accuracy": other})
    assert there.pairs == len(pairs)
    assert there.low is not None
    assert there.high is not None
    assert back.low is not None
    assert there.difference == pytest.approx(own.mean() - other.mean())
    assert there.low <= there.difference <= there.high
    assert back.low == pytest.approx(-there.high)


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says() -> None:
    generator, covered = np.random.default_rng(0), 0
    for _ in range(400):
        baseline = (generator.random(200) < 0.7).astype(float)
        own = np.where(generator.random(200) < 0.8, baseline, generator.random(200) < 0.7).astype(float)
        difference = baseline_results.paired_difference("accuracy", 0.0, accuracy(baseline), {"accuracy": own})
        assert difference.low is not None
        assert difference.high is not None
        covered += difference.low <= 0 <= difference.high
    # The true difference is 0. Four standard errors of a share of 95 % in 400 trials.
    assert abs(covered / 400 - 0.95) < 0.044


def test_pairing_makes_the_interval_shorter_than_that_of_two_samples() -> None:
    generator = np.random.default_rng(1)
    other = (generator.random(500) < 0.7).astype(float)
    own = np.where(generator.random(500) < 0.9, other, 1 - other)
    difference = baseline_results.paired_difference("accuracy", float(own.mean()), accuracy(other), {"accuracy": own})
    assert difference.low is not None
    assert difference.high is not None
    two_samples = 2 * 1.96 * np.sqrt((own.var() + other.var()) / 500)
    assert difference.high - difference.low < two_samples / 1.5


def test_equal_answers_do_not_prove_equality() -> None:
    values = np.ones(100)
    difference = baseline_results.paired_difference("accuracy", 1.0, accuracy(values), {"accuracy": values})
    assert (difference.difference, difference.low) == (0.0, pytest.approx(-0.0362, abs=1e-4))
    assert difference.word(higher_is_better=True) == ""


def test_only_scored_items_are_paired_and_too_few_give_no_interval() -> None:
    own = np.array([1.0, 0.0] * 10)
    places = np.arange(0, 20, 2)
    difference = baseline_results.paired_difference(
        "accuracy", 0.5, accuracy(np.zeros(10), places=places), {"accuracy": own}
    )
    assert (difference.difference, difference.pairs) == (1.0, 10)
    few = baseline_results.paired_difference("accuracy", 0.5, accuracy(np.zeros(3)), {"accuracy": np.ones(3)})
    assert (few.low, few.pairs) == (None, 0)
    absent = baseline_results.paired_difference("accuracy", 0.5, accuracy(np.zeros(9)), {})
    assert (absent.difference, absent.low) == (0.5, None)


def results() -> BaselineResults:
    difference = PairedDifference("accuracy", -0.028, -0.051, -0.004, 1043)
    linear = BaselineResult(
        "linear",
        "logistic regression",
        {"accuracy": 0.801, "macro_f1": 0.8},
        {"accuracy": 0.7},
        {"C": 4.0},
        "",
        (difference,),
    )
    lucky = BaselineResult("lucky", "a lucky guess", {"accuracy": 0.9}, {"accuracy": 0.5}, {})
    failed = BaselineResult("failed", "naive Bayes", {}, {}, {}, "cannot be trained: one class")
    run = {"accuracy": 0.773, "macro_f1": 0.77}
    return BaselineResults("classify", "print", "test", 60, "accuracy", "texts", run, (linear, lucky, failed))


def test_the_best_baseline_is_chosen_on_the_validation_split_if_all_were_measured_there() -> None:
    best = results().best(ACCURACY)
    assert best is not None
    assert best.name == "linear"
    without = replace(results(), baselines=tuple(replace(one, validation={}) for one in results().baselines))
    best = without.best(ACCURACY)
    assert best is not None
    assert best.name == "lucky"
    assert without.best(BITS_PER_BYTE) is None


def test_the_sentence_has_both_figures_the_interval_and_what_follows() -> None:
    plain = (
        "This run is worse than the best baseline, logistic regression: test accuracy 77.30% instead of 80.10%. "
        "Best on validation is logistic regression; on test, a lucky guess is better with 90.00%."
    )
    statistics = (
        "The difference is −2.8 points (95 % interval −5.1 to −0.4, paired over 1,043 test texts); logistic regression is "
        "the best baseline on validation."
    )
    assert (results().plain_sentence(METRICS), results().statistics(METRICS)) == (plain, statistics)
    assert results().sentence(METRICS) == f"{plain} {statistics}"
    unchosen = replace(results(), baselines=tuple(replace(one, validation={}) for one in results().baselines))
    assert unchosen.plain_sentence(METRICS) == (
        "This run has a test accuracy of 77.30%, and the best baseline, a lucky guess, has 90.00%."
    )
    linear, lucky, failed = results().baselines
    shown = replace(lucky, differences=(PairedDifference("accuracy", -0.1, -0.2, -0.05, 1043),))
    with_both = replace(results(), baselines=(linear, shown, failed)).plain_sentence(METRICS)
    assert with_both.endswith("on test, a lucky guess is better with 90.00%, and this run is worse than it.")
    alone = replace(results(), baselines=(linear, failed)).plain_sentence(METRICS)
    assert alone == "This run is worse than logistic regression: test accuracy 77.30% instead of 80.10%."
    assert unchosen.statistics(METRICS) == "A lucky guess is the best baseline on test."
    nothing = replace(results(), baselines=results().baselines[2:])
    assert nothing.sentence(METRICS) == "No baseline could be trained."


def test_the_plain_sentence_says_no_more_than_the_interval() -> None:
    first, *others = results().baselines
    for low, high, start in ((-0.1, 0.1, "No difference is shown between"), (0.1, 0.2, "This run is better than")):
        changed = replace(first, differences=(PairedDifference("accuracy", 0.1, low, high, 50),))
        assert replace(results(), baselines=(changed, *others)).plain_sentence(METRICS).startswith(start)


@pytest.mark.parametrize(
    ("low", "high", "higher", "word"),
    [
        (0.1, 0.2, True, "better"),
        (0.1, 0.2, False, "worse"),
        (-0.2, -0.1, True, "worse"),
        (-0.2, -0.1, False, "better"),
        (-0.1, 0.1, True, ""),
        (None, None, True, ""),
    ],
)
def test_the_verdict_follows_the_direction_of_the_metric(
    low: float | None, high: float | None, higher: bool, word: str
) -> None:
    assert PairedDifference("m", 0.0, low, high).word(higher) == word


def test_the_table_has_a_row_for_each_baseline_and_the_run_last() -> None:
    table = results().section(METRICS)
    assert table.columns == ("the obvious", "test accuracy", "macro F1", "difference", "95 % interval", "remark")
    assert table.rows[0] == ("logistic regression", "80.10%", "0.800", "−2.8 points", "−5.1 to −0.4", "")
    assert table.rows[2] == ("naive Bayes", "", "", "", "", "cannot be trained: one class")
    assert table.rows[-1] == ("this run", "77.30%", "0.770", "", "", "")


def test_a_file_is_read_as_it_was_written_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "baselines.json"
    assert baseline_results.read(file) is None
    results().write(file)
    assert baseline_results.read(file) == results()
    file.write_text(file.read_text()[:50])
    with refused(RunError, str(file)):
        baseline_results.read(file)
