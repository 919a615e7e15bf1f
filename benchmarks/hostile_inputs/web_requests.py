"""Wild requests to the real servers on the loopback interface: the API of `serve`, and the pages of `pages --live`."""

import json
import random
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import quote, quote_from_bytes, urlsplit

from . import damage
from .trying import ANSWERED, ESCAPE, HANG, PATIENCE, REFUSED, TRACEBACK, Kind, Place

TOKEN = "token-of-the-pages"
BODIES: dict[str, dict[str, object]] = {
    "/v1/completions": {
        "model": "lm",
        "prompt": "the sea",
        "max_tokens": 3,
        "n": 1,
        "temperature": 1.0,
        "top_p": 0.9,
        "top_k": 5,
        "seed": 1,
        "stop": ["x"],
        "logprobs": 2,
        "echo": True,
        "stream": False,
        "logit_bias": {"3": 1.0},
        "presence_penalty": 0.1,
        "regex": None,
    },
    "/v1/chat/completions": {
        "model": "lm",
        "messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "a"}]}],
        "max_tokens": 3,
        "stream": True,
        "stream_options": {"include_usage": True},
        "logprobs": True,
        "top_logprobs": 2,
        "response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "integer"}}},
    },
    "/v1/classify": {"model": "classifier", "input": ["the sea", "the sun"]},
    "/v1/embeddings": {"model": "classifier", "input": "the sea", "encoding_format": "base64"},
    "/v1/translate": {"model": "translator", "input": ["the sea"], "beams": 2},
    "/v1/tokenize": {"model": "lm", "prompt": "the sea"},
    "/v1/detokenize": {"model": "lm", "tokens": [1, 2, 3]},
}
PATTERNS = (
    "(a|b)*",
    "(a+)+b",
    "a{1,100000}",
    "(((((a{50}){50}){50})))",
    "[",
    "(?=a)",
    "\\1",
    ".*" * 500,
    "(" * 2000,
    "\ud800",
    "[\0-\U0010ffff]{99}",
)
SCHEMAS: tuple[object, ...] = (
    {"$ref": "#"},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    {"enum": []},
    {"type": "array", "minItems": 10**9},
    {"type": "string", "minLength": 10**9},
    {"type": "string", "pattern": "(a+)+b"},
    {"allOf": [{}] * 1000},
    {"anyOf": [{"type": "integer"}] * 1000},
    {"type": "nothing"},
    {"properties": 3},
    True,
    False,
)
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "get", "\x1b[2J", "A" * 300)


def _wild_header(rng: random.Random) -> bytes:
    names = (
        "Authorization",
        "Content-Type",
        "Content-Length",
        "Transfer-Encoding",
        "Host",
        "Expect",
        "Origin",
        "X-A",
        "Accept",
        "Upgrade",
    )
    values = (
        "Basic !!!",
        "Basic " + "QQ" * 100,
        "Bearer \x80",
        "chunked",
        "-1",
        "9" * 30,
        "application/xml",
        "http://[",
        "//[",
        "100-continue",
    )
    value = rng.choice((*values, damage.wild_text(rng)[:5000]))
    return f"{rng.choice(names)}: {value}".encode("utf-8", "surrogatepass")


def _api_request(rng: random.Random) -> tuple[bytes, str]:
    """The bytes of a request to the API, and in which way they are sent."""
    path, method = rng.choice(list(BODIES)), "POST"
    body = json.loads(json.dumps(BODIES[path]))
    draw = rng.random()
    if draw < 0.4:
        text = json.dumps(damage.damaged_value(rng, body)).encode("utf-8", "surrogatepass")
    elif draw < 0.55 and "completions" in path:
        body["regex"] = rng.choice((rng.choice(PATTERNS), damage.wild_text(rng)[:10_000]))
        if rng.random() < 0.5:
            body.pop("regex")
            body["response_format"] = {"type": "json_schema", "json_schema": {"schema": rng.choice(SCHEMAS)}}
            if rng.random() < 0.3:
                body["response_format"] = damage.damaged_value(rng, body["response_format"])
        text = json.dumps(body).encode("utf-8", "surrogatepass")
    elif draw < 0.7:
        text = damage.damaged_bytes(rng, json.dumps(body).encode())
    elif draw < 0.76:
        text = json.dumps({**body, "input": "sea " * 400_000, "prompt": "sea " * rng.choice((50_000, 400_000))}).encode()
    elif draw < 0.8:
        text = b"[" * rng.choice((500, 100_000)) + b"1"
    else:
        text = json.dumps(body).encode()
        path = rng.choice(
            (
                "/",
                "/health",
                "/metrics",
                "/v1/models",
                "/v1/models/" + quote(damage.wild_text(rng)[:300].encode("utf-8", "replace")),
                "/v1/../x",
                "//",
                "/openapi.json",
                "*",
                quote_from_bytes(rng.randbytes(9)),
                path,
            )
        )
        method = rng.choice(METHODS)
    return _request(rng, method, path, text)


def _pages_request(rng: random.Random) -> tuple[bytes, str]:
    """The bytes of a request to the pages."""
    paths = (
        "/",
        "/rows",
        "/curves",
        "/run",
        "/run/part",
        "/report",
        "/run/stop",
        "/run/report",
        "/nothing",
        "/run/../run",
        "/%2e%2e/x",
        "//",
    )
    keys = ("lm", "runs/lm", "study", "../../x", "/etc/passwd", damage.wild_text(rng)[:2000], "")
    token = (
        TOKEN
        if rng.random() < 0.8
        else rng.choice(("", "x", "%ff", "%00", TOKEN + "x", quote(damage.wild_text(rng)[:300].encode("utf-8", "replace"))))
    )
    key = quote(rng.choice(keys).encode("utf-8", "replace"), safe="")
    extra = "".join(
        f"&{rng.choice(('key', 'version', 'token', 'x'))}={quote(damage.wild_text(rng)[:200].encode('utf-8', 'replace'))}"
        for _ in range(rng.choice((0, 0, 1, 50)))
    )
    path = f"{rng.choice(paths)}?token={token}&key={key}{extra}"
    return _request(rng, rng.choice(("GET", "GET", "GET", "POST", *METHODS)), path, b"")


def _request(rng: random.Random, method: str, path: str, body: bytes) -> tuple[bytes, str]:
    lines = [f"{method} {path} HTTP/1.1".encode("utf-8", "surrogatepass"), b"Host: 127.0.0.1"]
    way = rng.choice(("whole",) * 12 + ("cut", "slow", "chunked", "no length"))
    if way == "chunked":
        lines.append(b"Transfer-Encoding: chunked")
        size = rng.choice((f"{len(body):x}", "zz", "ffffffffffffffff", "-1")).encode()
        body = size + b"\r\n" + body + b"\r\n0\r\n\r\n"
    elif way != "no length":
        lines.append(f"Content-Length: {len(body)}".encode())
    lines.append(b"Content-Type: application/json")
    lines.append(b"Connection: close")
    if rng.random() < 0.25:
        lines.append(_wild_header(rng))
    if rng.random() < 0.03:
        lines += [b"X-%d: %s" % (index, b"a" * 500) for index in range(rng.choice((10, 300)))]
    request = b"\r\n".join(lines) + b"\r\n\r\n" + body
    if rng.random() < 0.05:
        return damage.damaged_bytes(rng, request), way
    return request, way


def _send(address: str, request: bytes, way: str) -> tuple[str, bytes]:
    """Send a request as it is, and say what became of it: the outcome and the answer."""
    parts = urlsplit(address)
    began = time.monotonic()
    answer = b""
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=PATIENCE) as connection:
        try:
            if way == "slow":
                middle = len(request) * 2 // 3
                for start in range(0, middle, max(middle // 3, 1)):
                    connection.sendall(request[start : start + max(middle // 3, 1)])
                    time.sleep(0.02)
                return ANSWERED, b""  # the sender has gone; the next requests show whether the server minds
            if way == "cut":
                request = request[: len(request) // 2]
            connection.sendall(request)
            if way == "cut":
                connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(1 << 16):
                answer += data
                if time.monotonic() - began > 3 * PATIENCE:
                    return HANG, answer
        except TimeoutError:
            # A server waits for the rest of a body that was announced.
            return (HANG, answer) if way == "whole" and _is_whole(request) else (REFUSED, answer)
        except OSError:
            pass  # The server closed the connection on a request that is no HTTP.
    status = answer.split(b" ", 2)[1] if answer.startswith(b"HTTP/1.") else b""
    head = answer.partition(b"\r\n\r\n")[0]
    if b"\x1b" in head:
        return ESCAPE, answer
    if status.startswith(b"5") and status not in (b"503", b"504", b"501", b"505"):
        return TRACEBACK, answer
    return (ANSWERED if status.startswith((b"2", b"3")) else REFUSED), answer


def _is_whole(request: bytes) -> bool:
    """Whether a request has the end of its head, and the body that its only header about it announces."""
    head, end, body = request.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2].strip() for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    others = (b"transfer-encoding", b"expect")
    return bool(end) and not any(other in head.lower() for other in others) and lengths == [b"%d" % len(body)]


def _try_all(
    server: AbstractContextManager[str],
    make: Callable[[random.Random], tuple[bytes, str]],
    check: str,
    random_of: Callable[[int], random.Random],
    numbers: list[int],
    place: Place,
) -> dict[int, tuple[str, str]]:
    results = {}
    with server as address:
        for number in numbers:
            request, way = make(random_of(number))
            (place.here / f"request-{number}").write_bytes(request)
            outcome, answer = _send(address, request, way)
            healthy, well = _send(
                address, f"GET {check} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode(), "whole"
            )
            if healthy != ANSWERED:
                outcome = HANG
                answer = well
            results[number] = (outcome, repr(request[:400]) + "\n" + answer[-500:].decode("utf-8", "replace"))
    return results


def try_api(random_of: Callable[[int], random.Random], numbers: list[int], place: Place) -> dict[int, tuple[str, str]]:
    """Wild requests to the server of three runs."""
    from glasshouse.pages import playground_page
    from glasshouse.runs.run import Run
    from glasshouse.serving.application import create_app
    from glasshouse.serving.served_model import ServerOptions
    from glasshouse.serving.server import background_app

    place.take("runs/lm", "runs/classifier", "runs/translator", "cache")
    runs = {name: Run(name, "cpu") for name in ("lm", "classifier", "translator")}
    options = ServerOptions(seconds=8.0, most_tokens=64, threads=1)
    app = create_app(runs, options, playground_page.render)
    return _try_all(background_app(app), _api_request, "/health", random_of, numbers, place)


def try_pages(random_of: Callable[[int], random.Random], numbers: list[int], place: Place) -> dict[int, tuple[str, str]]:
    """Wild requests to the live pages."""
    from glasshouse.api import page_index
    from glasshouse.api.pages_application import create_pages_app
    from glasshouse.serving.server import background_app

    place.take("runs/lm", "runs/classifier", "studies/study", "cache")
    app = create_pages_app(page_index.folders_of(), TOKEN)
    return _try_all(background_app(app), _pages_request, f"/?token={TOKEN}", random_of, numbers, place)


SERVING = ("fastapi", "uvicorn", "prometheus_client")
KINDS = (
    Kind("requests to serve", 7, group=try_api, group_size=25, needs=SERVING),
    Kind("requests to pages", 3, group=try_pages, group_size=25, needs=SERVING),
)
