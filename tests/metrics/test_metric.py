"""Descriptions of metrics: recall of a class, names that no task declares, and headlines."""

import math

import pytest

from glasshouse.metrics.metric import (
    ACCURACY,
    EXAMPLES,
    LOSS,
    PERPLEXITY,
    RECALL,
    TOKENS,
    Metrics,
    bits_per_byte,
    per_token,
    perplexity,
)

METRICS = Metrics([LOSS, ACCURACY, RECALL, EXAMPLES], headline=("accuracy", "loss"))


def test_a_metric_per_class_is_found_by_the_name_of_the_class():
    assert METRICS["recall.bird"].title == "recall of bird"
    assert METRICS["recall.bird"].higher_is_better
    assert "recall.bird" in METRICS
    assert "accuracy.bird" not in METRICS
    with pytest.raises(KeyError):
        METRICS["accuracy.bird"]


def test_a_name_that_is_not_declared_has_a_title_and_no_direction():
    metric = METRICS.find("picture_to_text_1")
    assert (metric.title, metric.better) == ("picture to text 1", "")


def test_only_metrics_with_a_direction_decide_a_comparison():
    assert METRICS.comparable() == ["loss", "accuracy"]


def test_a_very_large_value_is_short_and_a_count_is_exact():
    assert PERPLEXITY.text(9_999_999.0) == "9999999.00"
    assert PERPLEXITY.text(1.2346e30) == "1.235×10³⁰"
    assert TOKENS.text(12_345_678_901.0) == "12,345,678,901"
    assert LOSS.text(float("inf")) == "inf"


def test_headlines_are_the_measured_ones_in_their_order():
    assert METRICS.headlines({"loss": 0.5, "examples": 3.0}) == [("loss", "0.5000")]
    assert METRICS.headlines({"loss": 0.5, "accuracy": 0.25}) == [("accuracy", "25.00%"), ("loss", "0.5000")]


def test_a_metric_per_token_depends_on_the_tokenizer():
    assert per_token(LOSS).per_token
    assert not LOSS.per_token


def test_equally_likely_tokens_have_their_number_as_perplexity():
    assert perplexity(math.log(50)) == pytest.approx(50)
    assert bits_per_byte(10 * math.log(50), 20) == pytest.approx(math.log2(50) / 2)


@pytest.mark.parametrize("loss", [1e4, math.inf])
def test_a_huge_loss_has_a_finite_perplexity(loss):
    assert math.isfinite(perplexity(loss))
