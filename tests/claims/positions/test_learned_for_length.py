"""The claim learned-for-length, as a whole quick run."""

import glasshouse
from glasshouse.claims.positions import length_extrapolation
from glasshouse.records import progress_bar
from glasshouse.training import cost_plan


def test_learned_positions_cannot_read_more_tokens_than_in_training(speeches, monkeypatch):
    monkeypatch.setattr(cost_plan, "TIMING_SECONDS", 0.01)
    with progress_bar.quiet():
        finding = glasshouse.try_claim("learned-for-length", quick=True, device="cpu").trial.finding
    measured = {row.what: row.measured for row in finding.rows}
    assert measured["test perplexity at 64 tokens, learned"] == length_extrapolation.CANNOT_READ
    assert measured["test perplexity at 64 tokens, learned, table lengthened"].endswith("(2 seeds)")
    assert measured["test perplexity at 128 tokens, alibi"].endswith("(2 seeds)")
    assert "32" in finding.because
    assert "64" in finding.because
    assert "A learned position table cannot read more tokens than it was trained with" in finding.because
    assert finding.notes[-1].endswith("refuted"), "a table without a row for the position refutes it, whatever the figures"
    assert finding.pictures == ("lengths.svg",)
