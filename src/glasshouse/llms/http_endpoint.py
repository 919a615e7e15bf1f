"""JSON requests to an HTTP server: time-outs, retries with exponential back-off, a rate limit, and server-sent events.

It uses urllib of the standard library: httpx would be a new dependency, and one request at a time needs nothing of it.
Redirects are not followed, because urllib would send the key on to wherever they lead.
"""

import email.utils
import http.client
import ipaddress
import json
import random
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from glasshouse.records.progress_bar import say
from glasshouse.specs.errors import GlasshouseError

TOO_MANY_REQUESTS: Final = 429
# A server that asks for a longer pause is not waited for.
LONGEST_PAUSE: Final = 300.0
# A pause that is announced.
NOTED_PAUSE: Final = 2.0
# What is read of an error message.
ERROR_BYTES: Final = 4000
CONNECTION_ERRORS: Final = (OSError, http.client.HTTPException)


class BrokenStream(GlasshouseError):
    """A stream that ended before the server said that it was complete. Whoever asked may ask again."""

    def __init__(self, server: str) -> None:
        super().__init__(f"{server} broke off in the middle of an answer; ask again")


class HTTPEndpoint:
    """A server at `base_url`, to which JSON is posted. The key goes into the header alone, never into a message.

    A request is sent up to `attempts` times. The pause before the second time doubles each time after.
    """

    def __init__(
        self,
        base_url: str,
        key: str = "",
        timeout: float = 120.0,
        requests_per_minute: float = 0.0,
        attempts: int = 6,
        first_pause: float = 1.0,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        parts = urllib.parse.urlsplit(self.base_url)
        self.server = parts.netloc
        loopback = is_loopback(parts.hostname or "")
        if key and parts.scheme == "http" and not loopback:
            raise GlasshouseError(
                "is not encrypted, so the key could be read on the way; use an https:// address", "base_url", self.base_url
            )
        self._key, self._timeout, self._attempts, self._first_pause = key, timeout, attempts, first_pause
        # A proxy of the environment is for other machines.
        proxies = [urllib.request.ProxyHandler({})] if loopback else []
        self._opener = urllib.request.build_opener(_NoRedirects, *proxies)
        self._spacing = 60.0 / requests_per_minute if requests_per_minute else 0.0
        self._next_request, self._lock = 0.0, threading.Lock()

    def post(self, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        """Send a request and return the JSON of the response. Without a body the path is read."""
        content = _json_object(self._send(path, body, lambda response: response.read()))
        if content is None:
            raise GlasshouseError(f"{self.server} answered {path} with something that is no JSON object; check base_url")
        return content

    def events(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a request and yield the JSON of each server-sent event.

        A request is sent again until the server accepts it. A connection that fails after that is a `BrokenStream`. A server
        may also just end; the caller knows whether the answer was complete.
        """
        response = self._send(path, body, lambda response: response)
        try:
            with response:
                for line in response:
                    field, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
                    if field == "data" and value.strip() == "[DONE]":
                        return
                    if field != "data":
                        continue
                    event = _json_object(value)
                    if event is None:
                        raise BrokenStream(self.server)
                    if "error" in event:
                        raise GlasshouseError(f"{self.server} failed in the middle of an answer: {self._message(value)}")
                    yield event
        except CONNECTION_ERRORS:
            raise BrokenStream(self.server) from None

    def _send(self, path: str, body: dict[str, Any] | None, read: Callable[[Any], Any]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        for attempt in range(self._attempts):
            self._wait_for_turn()
            request = urllib.request.Request(self.base_url + path, data, headers)
            try:
                return read(self._opener.open(request, timeout=self._timeout))
            except urllib.error.HTTPError as error:
                reason = self._reason(error)
                if error.code != TOO_MANY_REQUESTS and error.code < 500:
                    raise self._refusal(error.code, reason) from None
                asked = retry_after(error.headers.get("Retry-After"))
            except CONNECTION_ERRORS as error:
                cause = getattr(error, "reason", None) or error
                reason, asked = f"no connection ({self._redacted(str(cause) or type(cause).__name__)})", None
            pause = self._pause(attempt, asked)
            if attempt + 1 == self._attempts or pause > LONGEST_PAUSE:
                break
            if pause >= NOTED_PAUSE:
                say(f"{self.server}: {reason}; next try in {pause:.0f} s")
            time.sleep(pause)
        wait = f", and it asks for a pause of {pause:.0f} s" if pause > LONGEST_PAUSE else ""
        times = "once" if attempt == 0 else f"{attempt + 1} times"
        raise GlasshouseError(f"{self.server} was asked {times}: {reason}{wait}; try again later")

    def _pause(self, attempt: int, asked: float | None) -> float:
        """The pause after attempt 0, 1, ...; `asked` is what the server asks for."""
        return max(asked or 0.0, self._first_pause * 2.0**attempt * random.uniform(0.5, 1.0))

    def _wait_for_turn(self) -> None:
        """Requests start at least `_spacing` seconds apart."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next_request)
            self._next_request = turn + self._spacing
        if turn > now:
            time.sleep(turn - now)

    def _reason(self, error: urllib.error.HTTPError) -> str:
        try:
            content = error.read(ERROR_BYTES).decode("utf-8", "replace")
        except CONNECTION_ERRORS:
            content = ""
        return f"status {error.code}, {self._message(content) or error.reason}"

    def _message(self, content: str) -> str:
        """The message of a server's error, without the key, which some servers repeat."""
        parsed = _json_object(content)
        inner: object = content if parsed is None else parsed.get("error", parsed)
        if isinstance(inner, dict):
            inner = inner.get("message", inner)
        return self._redacted(" ".join(str(inner).split())[:300])

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _refusal(self, status: int, reason: str) -> GlasshouseError:
        remedy = "change the request"
        if status in (401, 403):
            remedy = "check the key in the environment variable that key_env names" if self._key else "name one with key_env"
        elif 300 <= status < 400:
            remedy = "it redirects elsewhere, so correct base_url"
        return GlasshouseError(f"{self.server} refused the request: {reason}; {remedy}")


def _json_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text; None if it holds something else."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


def retry_after(header: str | None) -> float | None:
    """The pause in seconds that a `Retry-After` header asks for: a number of seconds, or a date."""
    with suppress(ValueError):
        return max(float(header or ""), 0.0)
    with suppress(ValueError):
        return max(email.utils.parsedate_to_datetime(header or "").timestamp() - time.time(), 0.0)
    return None


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False
