"""`glasshouse pages`: the index as a file, and what is refused."""

import socket
from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, RunError
from tests.records.example_folders import make_run

from .program import call, refused, worked


def test_the_index_is_written_into_the_runs_folder(runs: Path) -> None:
    make_run(runs / "a")
    assert worked(call("pages")).out.strip() == str(runs / "index.html")
    assert "glasshouse report a" in (runs / "index.html").read_text()


def test_bad_input_is_refused(runs: Path, tmp_path: Path) -> None:
    refused(call("pages", "nowhere"), RunError, "nowhere")
    refused(call("pages", "--port", "1"), GlasshouseError, "--live")
    for options in ((), ("--live",)):
        (tmp_path / "empty" / "runs").mkdir(parents=True, exist_ok=True)
        refused(call("pages", "empty", *options), RunError, "empty")
        assert not (tmp_path / "empty" / "index.html").exists()
    make_run(runs / "a")
    refused(call("pages", str(runs / "a")), RunError, "a run")
    refused(call("pages", "--live", "--token", "short"), GlasshouseError, "5")
    refused(call("train", "demo-lm", "--live", "--dry-run"), GlasshouseError, "--dry-run")


def test_a_port_in_use_is_refused(runs: Path) -> None:
    make_run(runs / "a")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = call("pages", "--live", "--port", port)
    message = refused(outcome, GlasshouseError, port, "--port")
    assert "--host" not in message, "pages has no such option"
    assert outcome.err.strip() == message, "the library that binds says nothing of its own"


@pytest.mark.parametrize("option", ["--live", "--port"])
def test_help_names_the_options(option: str) -> None:
    assert option in worked(call("pages", "--help")).out
