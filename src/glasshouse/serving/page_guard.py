"""What every request for a live page passes first: the token of the address, and where the request comes from."""

import secrets
from urllib.parse import parse_qs, urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The names of this machine. A page of another site that was made to resolve to it has another one.
HOSTS = ("127.0.0.1", "localhost", "::1")
# Nothing is kept by the browser, shown in a frame of another page, or told to where a link leads.
HEADERS = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
NO_TOKEN = (
    "The address needs the token of this server: open the whole address that the command printed, "
    "with everything after the question mark.\n"
)


class PageGuard:
    """Refuses requests without the token (403), for another host (421) or from a page of another site (403)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        status, reason = self._problem(scope)
        app = PlainTextResponse(reason, status) if status else self.app
        await app(scope, receive, with_headers)

    def _problem(self, scope: Scope) -> tuple[int, str]:
        """The status and the text of a refusal; 0 if the request may pass."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if _host_name(f"//{host}") not in HOSTS:
            return 421, "This server answers for this machine only: open it as 127.0.0.1 or localhost.\n"
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            return 403, "A page of another site asks for this; open the pages themselves.\n"
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        given = query.get("token", [""])[0]
        if not secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode()):
            return 403, NO_TOKEN
        return 0, ""


def _place(address: str) -> str:
    """The host and port of an address; empty if it is none."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""


def _host_name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
