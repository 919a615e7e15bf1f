"""What every test gets: runs and a current folder of its own, and a cache that the whole session shares."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import needs

# A busy machine is slow, and that is not a failure.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
# Tests that give no number of their own try fewer examples in `make test` than the usual 100 of `make test-slow`.
settings.register_profile("few examples", settings.get_profile("any machine"), max_examples=30)


def pytest_configure(config: pytest.Config) -> None:
    """Beside other workers a test computes on one thread; so do the programs that it starts.

    Tables and help are as wide as on a wide terminal, and without colours, wherever the tests run. A console reads that when
    it is made, which may be at the import of a test.
    """
    if "not slow" in config.option.markexpr:
        settings.load_profile("few examples")
    os.environ.update(COLUMNS="200", NO_COLOR="1", _TYPER_FORCE_DISABLE_TERMINAL="1")
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ["OMP_NUM_THREADS"] = "1"
        import torch

        torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`-m cuda` selects the tests that need a CUDA device, whichever mark says so."""
    for item in items:
        if any(mark.kwargs.get("reason") in needs.CUDA for mark in item.iter_markers("skipif")):
            item.add_marker("cuda")


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for the session, which all workers of xdist share: a tokenizer is trained once and found by later tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_CACHE", str(folder))
        patch.delenv("GLASSHOUSE_MIRROR", raising=False)
        yield folder


@pytest.fixture(scope="session", autouse=True)
def no_power_cut() -> Iterator[None]:
    """Files need not reach the disk in a test, which no power cut outlives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_cache: Path) -> Path:
    """The test's own runs folder, not made yet; the current folder is the test's own too."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skips by reason, and name the needs that were required and not met."""
    reasons = skip_reasons(terminalreporter)
    if reasons:
        terminalreporter.section("skips by reason")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5}  {reason}")
    for need in unmet(reasons):
        terminalreporter.line(f"required and not met: {need} ({needs.REASONS[need]})", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of the tests in which a required kind of test was skipped."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and unmet(skip_reasons(reporter)) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def skip_reasons(reporter: pytest.TerminalReporter) -> Counter[str]:
    reasons = (report.longrepr[2] for report in reporter.stats.get("skipped", ()) if isinstance(report.longrepr, tuple))
    return Counter(reason.removeprefix("Skipped: ") for reason in reasons)


def unmet(reasons: Counter[str]) -> list[str]:
    required = [need for need in os.environ.get("GLASSHOUSE_TESTS_REQUIRE", "").split(",") if need]
    return [need for need in required if needs.REASONS[need] in reasons]
