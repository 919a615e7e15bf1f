"""Requests to a real server: retries, pauses, the rate limit, broken streams, and a key that never shows."""

import email.utils
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glasshouse.llms.http_endpoint import BrokenStream, HTTPEndpoint, is_loopback, retry_after
from glasshouse.specs.errors import GlasshouseError
from tests.refusals import refused

QUICK = {"attempts": 3, "first_pause": 0.01}
CHAT = "/chat/completions"


def test_a_busy_server_is_asked_again_after_the_pause_that_it_asks_for(server):
    server.script = [(429, {"Retry-After": "0.2"}), (503, {})]
    endpoint = HTTPEndpoint(server.address, **QUICK)
    start = time.monotonic()
    assert endpoint.post(CHAT, {"messages": []})["choices"]
    assert time.monotonic() - start >= 0.2
    assert len(server.requests) == 3


def test_a_server_that_stays_busy_or_asks_for_too_long_a_pause_is_given_up(server):
    endpoint = HTTPEndpoint(server.address, **QUICK)
    server.script = [(500, {})] * 3
    with refused(GlasshouseError, "3 times", "status 500"):
        endpoint.post(CHAT, {})
    server.script = [(429, {"Retry-After": "86400"})]
    with refused(GlasshouseError, "86400 s"):
        endpoint.post(CHAT, {})
    assert len(server.requests) == 4


def test_a_refused_key_is_not_tried_again_and_never_shown(server):
    server.script = [(401, {})]
    with refused(GlasshouseError, "[key]", "key_env") as caught:
        HTTPEndpoint(server.address, "sk-secret", **QUICK).post(CHAT, {})
    assert "sk-secret" not in str(caught.value)
    assert server.requests[0][2]["Authorization"] == "Bearer sk-secret"
    assert len(server.requests) == 1


def test_other_refusals_and_redirects_are_not_tried_again(server):
    server.script = [(400, {}), (302, {"Location": "http://127.0.0.1:1/elsewhere"})]
    endpoint = HTTPEndpoint(server.address, **QUICK)
    with refused(GlasshouseError, "status 400"):
        endpoint.post(CHAT, {})
    with refused(GlasshouseError, "base_url"):
        endpoint.post(CHAT, {})


def test_no_server_and_a_silent_server_are_told(server):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with refused(GlasshouseError, "2 times", "no connection"):
            HTTPEndpoint(closed, attempts=2, first_pause=0.01).post(CHAT, {})
        silent.listen()
        with refused(GlasshouseError, "once"):
            HTTPEndpoint(closed, timeout=0.1, attempts=1).post(CHAT, {})


def test_something_else_than_json_is_told(server):
    server.response = lambda path, text: ["no", "object"]
    with refused(GlasshouseError, CHAT):
        HTTPEndpoint(server.address).post(CHAT, {})


def test_events_come_one_by_one_and_an_event_of_an_error_ends_them(server):
    events = list(HTTPEndpoint(server.address).events(CHAT, {"stream": True}))
    assert "".join(e["choices"][0]["delta"].get("content", "") for e in events if e["choices"]) == "It is 2.96, about."
    server.events = lambda text, broken: ['{"error": {"message": "out of memory"}}']
    with refused(GlasshouseError, "out of memory"):
        list(HTTPEndpoint(server.address).events(CHAT, {"stream": True}))
    server.events = lambda text, broken: ['{"choices": [']
    with pytest.raises(BrokenStream):
        list(HTTPEndpoint(server.address).events(CHAT, {"stream": True}))


def test_the_rate_limit_spaces_requests(server):
    endpoint = HTTPEndpoint(server.address, requests_per_minute=600)
    start = time.monotonic()
    for _ in range(4):
        endpoint.post(CHAT, {})
    assert time.monotonic() - start >= 0.3


def test_a_key_is_not_sent_without_encryption():
    with refused(GlasshouseError, "http://example.org"):
        HTTPEndpoint("http://example.org/v1", "sk-secret")
    HTTPEndpoint("https://example.org/v1", "sk-secret")


@given(st.integers(0, 10), st.none() | st.floats(0, 100))
def test_pauses_grow_and_are_never_shorter_than_asked(attempt, asked):
    pause = HTTPEndpoint("https://example.org", first_pause=0.5)._pause(attempt, asked)
    assert pause >= (asked or 0.0)
    assert 0.25 * 2**attempt <= pause <= max(asked or 0.0, 0.5 * 2**attempt)


def test_retry_after_is_seconds_or_a_date():
    assert retry_after(None) is None
    assert retry_after("soon") is None
    assert retry_after("1.5") == 1.5
    assert retry_after("-3") == 0.0
    assert 3 < retry_after(email.utils.formatdate(time.time() + 5, usegmt=True)) <= 5
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("10.0.0.1")
