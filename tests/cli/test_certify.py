"""`glasshouse certify`: its table, its JSON and its exit status."""

import json

import pytest

from .program import (
    call,
    worked,
)


def test_certify(llama_run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from glasshouse.certificates import checks

    quick = {name: checks.CHECKS[name] for name in ("cache against full", "batch size")}
    monkeypatch.setattr(checks, "CHECKS", quick)
    out = worked(call("certify", llama_run, "--device", "cpu")).out
    assert "pass" in out
    assert "FAIL" not in out
    rows = json.loads(worked(call("certify", llama_run, "--json")).out)
    assert [row["passed"] for row in rows] == [True, True]
    broken = {"cache against full": lambda bench: checks.Check("", 1.0, 0.5)}
    monkeypatch.setattr(checks, "CHECKS", broken)
    outcome = call("certify", llama_run)
    assert outcome.code == 1
    assert "FAIL" in outcome.out
