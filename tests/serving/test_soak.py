"""A soak: 10,000 good, bad, cancelled and oversized requests from 32 clients. The server stays healthy."""

import http.client
import json
import random
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from glasshouse.runs.run import Run
from tests.serving.conftest import serving

pytestmark = pytest.mark.slow

REQUESTS, CLIENTS, WARM = 10_000, 32, 2_000
PROMPTS = ("the cat", "who", "and the dog sat on the log", "the cat sat on the mat, and")
KINDS = ("good", "good", "good", "stream", "chat", "bad", "cancelled", "oversized", "unknown")


def resident() -> int:
    """The memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Client(threading.local):
    """A connection of each thread."""

    connection: http.client.HTTPConnection | None = None

    def post(self, address: str, path: str, body: bytes) -> tuple[int, bytes]:
        host = address.removeprefix("http://")
        self.connection = self.connection or http.client.HTTPConnection(host, timeout=120)
        try:
            self.connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (http.client.HTTPException, OSError):
            self.connection.close()
            self.connection = None
            raise


def test_a_soak(language_model: Run) -> None:
    expected: dict[tuple[str, int, int], str] = {}
    for prompt in PROMPTS:
        for seed in range(4):
            [completion] = language_model.sample(prompt, tokens=12, seed=seed)
            expected[prompt, seed, 12] = completion.text
    client, outcomes, lock = Client(), Counter[tuple[str, int]](), threading.Lock()
    wrong: list[str] = []
    with serving({"small": language_model}, most_bytes=20_000, most_waiting=10_000) as address:

        def ask(number: int) -> None:
            chance = random.Random(number)
            kind = chance.choice(KINDS)
            prompt, seed = chance.choice(PROMPTS), chance.randrange(4)
            body: dict[str, Any] = {"model": "small", "prompt": prompt, "seed": seed, "max_tokens": 12}
            path = "/v1/completions"
            if kind == "stream":
                body["stream"] = True
            elif kind == "chat":
                path, body["messages"] = "/v1/chat/completions", [{"role": "user", "content": prompt}]
            elif kind == "bad":
                body[chance.choice(("temperature", "n", "logit_bias", "stop"))] = -7
            elif kind == "oversized":
                body["prompt"] = "x" * 30_000
            elif kind == "unknown":
                body["model"] = "none"
            if kind == "cancelled":
                status = cancel(address, body)
            else:
                status, content = client.post(address, path, json.dumps(body).encode())
                text = read(kind, content)
                if text is not None and text != expected[prompt, seed, 12]:
                    wrong.append(f"{prompt!r}, seed {seed}: {text!r}")
            with lock:
                outcomes[kind, status] += 1

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(ask, range(WARM)))
            before = resident()
            list(pool.map(ask, range(WARM, REQUESTS)))
        growth = resident() - before
        end = time.monotonic() + 30
        while True:
            health = json.loads(urllib.request.urlopen(f"{address}/health").read())
            if (health["active"], health["waiting"]) == (0, 0):
                break
            assert time.monotonic() < end, health
            time.sleep(0.1)
    assert wrong == []
    statuses = {"good": 200, "stream": 200, "chat": 200, "bad": 400, "oversized": 413, "unknown": 404, "cancelled": 0}
    assert set(outcomes) == set(statuses.items()), outcomes
    assert sum(outcomes.values()) == REQUESTS
    assert growth < 30_000_000, f"memory grew by {growth / 1e6:.0f} MB"


def read(kind: str, content: bytes) -> str | None:
    """The text of a good answer."""
    if kind == "good":
        return str(json.loads(content)["choices"][0]["text"])
    if kind == "stream":
        events = [line[6:] for line in content.decode().splitlines() if line.startswith("data: {")]
        return "".join(json.loads(event)["choices"][0]["text"] for event in events)
    return None


def cancel(address: str, body: dict[str, Any]) -> int:
    """Ask for a long stream, read its beginning, and go away."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=120)
    content = json.dumps({**body, "max_tokens": 4000, "stream": True, "temperature": 2}).encode()
    connection.request("POST", "/v1/completions", content, {"Content-Type": "application/json"})
    connection.getresponse().read(10)
    connection.close()
    return 0
