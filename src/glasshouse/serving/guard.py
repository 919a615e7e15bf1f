"""What every request passes first: the key, the limit on the size of the body, and the count of answers."""

import base64
import binascii
import json
import secrets
import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glasshouse import formatting
from glasshouse.serving import answers
from glasshouse.serving.measurements import ServerMeasurements

# A load balancer asks without a key.
OPEN = ("/health",)
# Bytes of a body that is too large that are read before it is refused.
MOST_DISCARDED = 2**20


class Guard:
    """Refuses requests without the key (401) and with too large a body (413)."""

    def __init__(self, app: ASGIApp, api_key: str | None, most_bytes: int, measurements: ServerMeasurements) -> None:
        self.app, self.api_key, self.most_bytes, self.measurements = app, api_key, most_bytes, measurements

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.monotonic(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.most_bytes:
                raise HTTPException(413, self._too_large(read))
            return message

        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        length = headers.get("content-length", "")
        try:
            if self.api_key is not None and scope["path"] not in OPEN and not self._has_key(headers):
                message = "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'"
                error = answers.error(message, "authentication_error", code="invalid_api_key")
                await _refuse(counted, 401, error, {"www-authenticate": 'Basic realm="glasshouse"'})
            elif (size := formatting.read_count(length) or 0) > self.most_bytes:
                await _discard(receive)
                await _refuse(counted, 413, answers.error(self._too_large(size)), {"connection": "close"})
            else:
                await self.app(scope, limited, counted)
        finally:
            self.measurements.answered(scope["path"], status, time.monotonic() - began)

    def _too_large(self, size: int) -> str:
        return f"the body has {size} bytes or more; the limit of this server is {self.most_bytes}"

    def _has_key(self, headers: dict[str, str]) -> bool:
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


async def _refuse(send: Send, status: int, body: dict[str, object], headers: dict[str, str]) -> None:
    content = json.dumps(body).encode()
    every = {"content-type": "application/json", "content-length": str(len(content)), **headers}
    lines = [(name.encode(), value.encode()) for name, value in every.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": content})
