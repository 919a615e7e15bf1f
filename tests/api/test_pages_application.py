"""The served pages over example folders: index, rows, curves, live views, reports, buttons, also of half-written files."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from glasshouse.api import page_index
from glasshouse.records import metric_log, sample_log
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.sample_log import KeptSample
from glasshouse.records.status import Status
from tests import needs
from tests.records.example_folders import REPORT, make_run, make_study

needs.package("uvicorn")
needs.package("fastapi")
from glasshouse.api.pages_application import create_pages_app
from glasshouse.serving.server import background_app

TOKEN = "0123456789abcdef"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    make_run(tmp_path / "runs" / "a", report=True)
    make_run(tmp_path / "runs" / "b", steps=6, status=Status.TRAINING)
    make_study(tmp_path / "studies" / "s", report=True)
    with background_app(create_pages_app(page_index.folders_of(tmp_path), TOKEN)) as address:
        yield address


def ask(address: str, path: str, post: bool = False, **values: str) -> tuple[int, str]:
    query = urllib.parse.urlencode({"token": TOKEN, **values})
    request = urllib.request.Request(f"{address}/{path}?{query}", method="POST" if post else "GET")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_samples_are_read_from_the_run_folder_by_every_server(tmp_path: Path) -> None:
    """They need no checkpoint, no process that trains, and nothing that a server remembers."""
    run = make_run(tmp_path / "runs" / "a", steps=6)
    sample_log.add(run.path, [KeptSample(5, "the <cat>", " sat on it", "temperature 0.8")])
    pages = []
    for _ in range(2):
        with background_app(create_pages_app(page_index.folders_of(tmp_path), TOKEN)) as address:
            pages.append(json.loads(ask(address, "run/part", key="runs/a")[1])["html"])
    assert pages[0] == pages[1]
    for part in ("the &lt;cat&gt;", " sat on it", "after step 5", "temperature 0.8"):
        assert part in pages[0]


def test_pages_are_served_and_change_with_their_files(served: str, tmp_path: Path) -> None:
    assert "runs%2Fb" in ask(served, "")[1]
    make_study(tmp_path / "studies" / "without-report")
    page = ask(served, "")[1]
    assert "report?token=0123456789abcdef&amp;key=studies%2Fs" in page
    assert 'key=studies%2Fwithout-report"' not in page
    assert "glasshouse report" in page
    rows = json.loads(ask(served, "rows")[1])
    assert json.loads(ask(served, "rows", version=rows["version"])[1]) == {"version": rows["version"]}
    log = tmp_path / "runs" / "b" / "metrics.jsonl"
    metric_log.append(log, {"step": 9, "loss": 0.5, "seconds": 9.0})
    changed = json.loads(ask(served, "rows", version=rows["version"])[1])
    assert "9 of 10" in changed["runs"]
    assert json.loads(ask(served, "curves", key="runs/b")[1])["runs/b"]["training"][0][-1] == 9
    view = json.loads(ask(served, "run/part", key="runs/b")[1])
    assert "9 of 10" in view["html"]
    assert "tokens so far" in view["html"]
    with open(log, "a") as file:
        file.write('{"step": 10, "lo')
    (tmp_path / "runs" / "b" / "run.json").write_text('{"status": "tr')
    for path in ("", "rows", "run", "run/part"):
        assert ask(served, path, key="runs/b")[0] == 200
    assert "run.json cannot be read" in ask(served, "run", key="runs/b")[1]


def test_reports_are_linked_and_other_files_are_not_served(served: str, tmp_path: Path) -> None:
    status, page = ask(served, "report", key="studies/s")
    assert status == 200
    assert 'key=studies%2Fs%2Flearned%2Fseed-0">learned/seed-0</a>' in page
    assert "live view" in ask(served, "report", key="runs/a")[1]
    listed = '<p><a data-run="learned/seed-1" href="learned/seed-1/">seed 1</a></p>'
    (tmp_path / "studies" / "s" / "report.html").write_text(REPORT.replace("<p>a page</p>", listed))
    page = ask(served, "report", key="studies/s")[1]
    assert 'href="run?token=0123456789abcdef&amp;key=studies%2Fs%2Flearned%2Fseed-1">seed 1</a>' in page
    for key in ("runs/b", "runs/a/run.json", "../../etc", "", "runs"):
        assert ask(served, "report", key=key)[0] == 404
    assert ask(served, "run", key="nope")[0] == 404
    for path in ("run", "run/part", "report"):
        status, answer = ask(served, path)
        assert status == 404
        assert answer.endswith("go back to the index.\n"), "a sentence and no JSON"
    assert ask(served, "", token="wrong")[0] == 403
    assert ask(served, "run/stop", post=True, key="runs/b", token="")[0] == 403


def test_only_a_run_that_trains_can_be_stopped(served: str, tmp_path: Path) -> None:
    assert ask(served, "run/stop", post=True, key="runs/b")[0] == 409
    assert ask(served, "run/resume", post=True, key="runs/a")[0] == 409
    run = RunFolder(tmp_path / "runs" / "b")
    with run.locked():
        status, _ = ask(served, "run/stop", post=True, key="runs/b")
        assert status == 200
        assert run.stop_request.exists()
        assert ask(served, "run/stop", post=True, key="runs/b")[0] == 409
        assert ask(served, "run/stop", key="runs/b")[0] == 405
