"""What every request passes first: a key or a token, the size of the body, where the request comes from, and a count."""

import base64
import binascii
import secrets
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glasshouse import formatting
from glasshouse.serving.api_errors import error_answer
from glasshouse.serving.served_model import ServerMeasurements

# A load balancer asks without a key.
OPEN = ("/health",)
# Bytes of a body that is too large that are read before it is refused.
MOST_DISCARDED = 2**20
# The names of this machine. A page of another site that was made to resolve to it has another one.
HOSTS = ("127.0.0.1", "localhost", "::1")
# Nothing is kept by the browser, shown in a frame of another page, or told to where a link leads.
PAGE_HEADERS = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)


class Guard:
    """Refuses requests without the key (401) and with too large a body (413)."""

    def __init__(self, app: ASGIApp, api_key: str | None, most_bytes: int, measurements: ServerMeasurements) -> None:
        self.app, self.api_key, self.most_bytes, self.measurements = app, api_key, most_bytes, measurements

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, read = time.monotonic(), 500, 0

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.most_bytes:
                raise HTTPException(413, self._too_large(read))
            return message

        headers, app = Headers(scope=scope), self.app
        if self.api_key is not None and scope["path"] not in OPEN and not self._has_key(headers):
            message = "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'"
            app = error_answer(401, message, None, "invalid_api_key", {"www-authenticate": 'Basic realm="glasshouse"'})
        elif (size := formatting.read_count(headers.get("content-length", "")) or 0) > self.most_bytes:
            await _discard(receive)
            app = error_answer(413, self._too_large(size), headers={"connection": "close"})
        try:
            await app(scope, limited, counted)
        finally:
            self.measurements.answered(scope["path"], status, time.monotonic() - began)

    def _too_large(self, size: int) -> str:
        return f"the body has {size} bytes or more; the limit of this server is {self.most_bytes}"

    def _has_key(self, headers: Headers) -> bool:
        """Whether the key was sent, as a bearer token or, by a browser, as the password of basic authentication."""
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            try:
                value = base64.b64decode(value, validate=True).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return False
        elif kind.lower() != "bearer":
            return False
        return secrets.compare_digest(value.strip().encode(), (self.api_key or "").encode())


async def _discard(receive: Receive) -> None:
    """Read what is left of a body, up to a limit: a client that is still sending when it is refused never sees why."""
    read = 0
    while read < MOST_DISCARDED:
        message = await receive()
        read += len(message.get("body", b""))
        if not message.get("more_body"):
            return


class PageGuard:
    """Refuses requests for pages without the token (403), for another host (421) or from a page of another site (403)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *PAGE_HEADERS]
            await send(message)

        await (self._refusal(scope) or self.app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers, query = Headers(scope=scope), QueryParams(scope.get("query_string", b""))
        host, origin = headers.get("host", ""), headers.get("origin")
        if _parts(f"//{host}")[0] not in HOSTS:
            return PlainTextResponse("This server answers for this machine only: open it as 127.0.0.1 or localhost.\n", 421)
        if origin is not None and _parts(origin)[1] != host:
            return PlainTextResponse("A page of another site asks for this; open the pages themselves.\n", 403)
        if not secrets.compare_digest(query.get("token", "").encode("utf-8", "replace"), self.token.encode()):
            return PlainTextResponse("The token is missing: open the whole address that the command printed.\n", 403)
        return None


def _parts(address: str) -> tuple[str, str]:
    """The host of an address, and the host with its port; empty if it is none."""
    try:
        parts = urlsplit(address)
        return parts.hostname or "", parts.netloc
    except ValueError:
        return "", ""
