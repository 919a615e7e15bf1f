"""A pulse of `glasshouse serve`: a real process, a request during SIGTERM, and refusals."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

import glasshouse
from glasshouse.specs.errors import GlasshouseError, RunError

from .program import call, refused, worked


def test_a_server_answers_and_finishes_what_it_does_after_sigterm(runs: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. " * 40)
    fields = ("data.tokenizer=characters", "data.vocabulary=64", "data.context=24", "model.width=16", "model.layers=1")
    speed = ("model.heads=2", "training.steps=2", "training.batch=4", "training.threads=1", "training.precision=fp32")
    worked(call("train", "language-model", f"data.files={text}", *fields, *speed, "--name", "tiny", "--device", "cpu"))
    command = [sys.executable, "-m", "glasshouse", "serve", "tiny", "--port", "0", "--device", "cpu"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        address = line.split(" at ")[1].split()[0]
        assert address.startswith("http://127.0.0.1:")
        end = glasshouse.open_run("tiny").tokenizer.end_of_text
        never_ends = {str(end): -100}
        body = {"model": "tiny", "prompt": "the c", "max_tokens": 400, "stream": True, "logit_bias": never_ends}
        request = urllib.request.Request(
            f"{address}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            first = answer.readline()
            server.send_signal(signal.SIGTERM)
            lines = [first, *answer]
        assert lines[-2] == b"data: [DONE]\n"
        assert sum(line.startswith(b"data: {") for line in lines) >= 300
        watchdog = threading.Timer(60, server.kill)
        watchdog.start()
        assert server.wait() in (0, -signal.SIGTERM)
        watchdog.cancel()
    refused(call("serve", "missing"), RunError)
    refused(call("serve", "tiny", "tiny", "--device", "cpu"), GlasshouseError)


@pytest.mark.parametrize("host", ["", " ", "a..b", "x" * 70, "no such host", "\x1b[2J"])
def test_what_is_no_address_is_refused_before_a_model_is_opened(host: str) -> None:
    refused(call("serve", "missing", "--host", host), GlasshouseError, "127.0.0.1")


def test_a_key_that_no_header_can_send_is_refused() -> None:
    refused(call("serve", "missing", "--api-key", "a\nb"), GlasshouseError)
    refused(call("serve", "missing", "--api-key", " \n"), GlasshouseError)
