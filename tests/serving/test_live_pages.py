"""The live pages in a real browser, with a real training: buttons, and kills of the trainer and of the server."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from glasshouse.records import sample_log
from tests import accessibility, needs

TOKEN = "0123456789abcdef0123"
# Seconds: a busy machine takes long to import torch.
PATIENCE = 180.0
FIELDS = ("data.tokenizer=characters", "data.vocabulary=64", "data.context=16", "model.width=16", "model.layers=1")
SPEED = ("model.heads=2", "training.batch=4", "training.threads=1", "training.precision=fp32", "evaluation.sample_tokens=8")
LONG = ("training.steps=1000000", "evaluation.every=200", "evaluation.tokens=500")


def program(*words: str, **how: object) -> subprocess.Popen:
    """A command in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "glasshouse", *words], **how)


@contextmanager
def ended(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def serve(port: int) -> subprocess.Popen:
    process = program("pages", "--live", "--port", str(port), "--token", TOKEN, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert f"http://127.0.0.1:{port}/?token={TOKEN}" in process.stdout.readline()
    return process


@pytest.fixture(autouse=True)
def _studies_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat. " * 100)
    return path


@pytest.fixture
def page() -> Iterator:
    playwright = needs.package("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=needs.chromium(), args=needs.CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE * 1000)
        yield page
        browser.close()


def steps(page) -> int:
    found = re.search(r"([\d,]+) of 1,000,000", page.locator("#live .headline").inner_text())
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.slow
def test_a_run_is_watched_killed_resumed_and_stopped(page, runs: Path, text: Path) -> None:
    expect = needs.package("playwright.sync_api").expect
    expect.set_options(timeout=PATIENCE * 1000)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with ended(serve(port)) as server:
        page.goto(f"http://127.0.0.1:{port}/?token={TOKEN}")
        expect(page.locator("#counts")).to_contain_text("0 runs")
        words = ("language-model", f"data.files={text}", *FIELDS, *SPEED, *LONG, "--name", "long", "--device", "cpu")
        with ended(program("train", *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as trainer:
            # The index shows the new run by itself, with its curves.
            page.get_by_role("link", name="long").wait_for()
            expect(page.locator("#run-table .state")).to_have_text("training")
            page.get_by_label("show the curves of long").check()
            page.locator("[data-overlay='validation'] .curve").wait_for()
            page.get_by_role("link", name="long").click()
            page.locator("#live svg.chart").first.wait_for()
            page.locator("#samples .written").first.wait_for()
            expect(page.locator("#live .headline")).to_contain_text("time left")
            before = steps(page)
            expect(page.locator("#live .headline")).not_to_contain_text(f"{before:,} of")
            assert steps(page) > before
            trainer.send_signal(signal.SIGKILL)
        expect(page.locator("#live .state")).to_have_text("interrupted")
        newest = f"after step {sample_log.read(runs / 'long')[0].step:,}"
        expect(page.locator("#samples figcaption").first).to_have_text(newest)
        reached, samples = steps(page), page.locator("#samples .written p").first.inner_text()
        server.send_signal(signal.SIGKILL)
        expect(page.locator("#pulse")).to_contain_text("does not answer")
    with ended(serve(port)):
        # The page that is still open goes on, and shows what it showed before.
        expect(page.locator("#pulse")).to_have_text("Live.")
        page.reload()
        expect(page.locator("#live .state")).to_have_text("interrupted")
        assert steps(page) == reached
        expect(page.locator("#samples figcaption").first).to_have_text(newest)
        assert page.locator("#samples .written p").first.inner_text() == samples
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#live .state")).to_have_text("training")
        expect(page.locator("#live .headline")).not_to_contain_text(f"{reached:,} of")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#live .state")).to_have_text("interrupted")
        page.get_by_role("button", name="Make the report").click()
        page.get_by_role("link", name="its report").wait_for()
        accessibility.check(page)
        page.get_by_role("link", name="its report").click()
        expect(page.locator("h1")).to_have_text("long")
        page.get_by_role("link", name="all runs and studies").click()
        page.get_by_role("link", name="long").wait_for()
        accessibility.check(page)
    assert not (runs / "long" / "stop").exists()


@pytest.mark.slow
def test_train_opens_its_pages(runs: Path, text: Path, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser.sh", tmp_path / "opened.txt"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    words = ("language-model", f"data.files={text}", *FIELDS, *SPEED, "training.steps=500", "--name", "a")
    with ended(
        program("train", *words, "--live", stdout=subprocess.PIPE, text=True, env={**os.environ, "BROWSER": f"{browser} %s"})
    ) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    [address] = re.findall(r"pages at (\S+)", out)
    assert opened.read_text().strip() == address
    # Without a terminal the server ends with the training.
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(address.split(":")[2].split("/")[0])), timeout=5)
