"""The n-gram opponents of language models: one value for each order, none without a finished run."""

from types import SimpleNamespace

from glasshouse.claims.attention import ngram_opponents


def test_without_a_finished_run_there_is_no_opponent():
    study = SimpleNamespace(arms=(SimpleNamespace(name="diverged"),))
    bench = SimpleNamespace(finished_runs=lambda study, arm: [])
    assert ngram_opponents.ngram_series(bench, study) == {}


def test_every_order_has_a_quantity():
    quantities = ngram_opponents.ngram_quantities("nats per token")
    assert [quantities[ngram_opponents.key(order)].unit for order in (2, 3)] == ["nats per token"] * 2
    assert "bigram" in quantities["ngram/2"].label
