"""An application on a port: in this process until a signal, or in a thread until the block that uses it ends."""

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from glasshouse.specs.errors import GlasshouseError

# Seconds in which a server in a thread must have started.
STARTING_SECONDS = 60.0


class _Server(uvicorn.Server):
    """Calls `started_at` with its address as soon as requests are answered."""

    def __init__(self, config: uvicorn.Config, started_at: Callable[[str], None]) -> None:
        super().__init__(config)
        self.started_at = started_at

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self.started_at(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def serve_app(
    app: ASGIApp,
    host: str,
    port: int,
    started_at: Callable[[str], None],
    seconds: float = 0.0,
    remedy: str = "choose another --port or --host",
) -> None:
    """Serve an application until SIGINT or SIGTERM; requests that run then have these seconds. Port 0: a free one.

    `remedy` ends the error if the port is taken.
    """
    try:
        listening = socket.create_server((host, port), family=check_host(host), backlog=2048)
    except (OSError, OverflowError) as error:
        raise GlasshouseError(f"port {port} of {host} is not free or not allowed; {remedy}") from error
    with listening:
        _Server(_configuration(app, host, port, seconds), started_at).run([listening])


def check_host(host: str) -> int:
    """The family of an address. Refuses what is no address of a machine; an empty one would be all of this machine."""
    try:
        if not host.strip():
            raise ValueError("it is empty")
        return socket.getaddrinfo(host, None)[0][0]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        remedy = "write 127.0.0.1 for this machine only, or 0.0.0.0 for all its addresses"
        raise GlasshouseError(f"is no address ({reason}); {remedy}", "host", host[:100]) from None


@contextmanager
def background_app(app: ASGIApp, seconds: float = 5.0) -> Iterator[str]:
    """Serve an application in a thread on a free port of the loopback interface, and yield the address."""
    addresses: queue.Queue[str] = queue.Queue()
    server = _Server(_configuration(app, "127.0.0.1", 0, seconds), addresses.put)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield addresses.get(timeout=STARTING_SECONDS)
    finally:
        server.should_exit = True
        thread.join(seconds)


def _configuration(app: ASGIApp, host: str, port: int, seconds: float) -> uvicorn.Config:
    return uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=int(seconds) + 1
    )
