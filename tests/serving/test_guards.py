"""Requests for live pages: without the token, for another host or from another site they are refused."""

import asyncio

import pytest

from tests import needs

needs.package("starlette")
from starlette.responses import PlainTextResponse

from glasshouse.serving.guards import PageGuard

TOKEN = "0123456789abcdef"


def answer(query: str, **headers: str) -> tuple[int, dict[str, str]]:
    """The status of the answer to a request, and its headers."""
    sent: list = []
    lines = [
        (name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "127.0.0.1:80", **headers}.items()
    ]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query.encode(), "headers": lines}

    async def send(message) -> None:
        sent.append(message)

    async def receive() -> dict:
        return {"type": "http.request", "body": b""}

    asyncio.run(PageGuard(PlainTextResponse("inside"), TOKEN)(scope, receive, send))
    assert (b"".join(message.get("body", b"") for message in sent) == b"inside") == (sent[0]["status"] == 200)
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_the_token_opens_and_nothing_is_kept() -> None:
    status, headers = answer(f"token={TOKEN}")
    assert status == 200
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert answer(f"token={TOKEN}", host="localhost:8010", origin="http://localhost:8010")[0] == 200
    assert answer(f"token={TOKEN}", host="[::1]:8010")[0] == 200


@pytest.mark.parametrize("query", ["", "token=", "token=wrong", f"token={TOKEN}x", "token=%FF%FE", "key=1"])
def test_another_token_is_refused(query: str) -> None:
    assert answer(query)[0] == 403


def test_other_hosts_and_other_sites_are_refused() -> None:
    assert answer(f"token={TOKEN}", host="evil.example")[0] == 421
    assert answer(f"token={TOKEN}", host="127.0.0.1.evil.example")[0] == 421
    assert answer(f"token={TOKEN}", host="[")[0] == 421
    assert answer(f"token={TOKEN}", origin="http://evil.example")[0] == 403
    assert answer(f"token={TOKEN}", origin="null")[0] == 403
    assert answer(f"token={TOKEN}", origin="//[")[0] == 403
    assert answer(f"token={TOKEN}", origin="http://127.0.0.1:81")[0] == 403
