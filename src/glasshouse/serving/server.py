"""A server process: an application on a port, until a signal. Or a server in a thread, until the block that uses it ends."""

import logging
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from glasshouse.runs.run import Run
from glasshouse.serving.application import create_app
from glasshouse.serving.served_model import ServerOptions
from glasshouse.specs.errors import GlasshouseError

# What to do about a port that is taken, by the options of `glasshouse serve`.
ANOTHER_PORT = "choose another --port or --host"
# Seconds in which a server in a thread must have started.
STARTING_SECONDS = 60.0


class _Server(uvicorn.Server):
    """Calls `started_at` with its address as soon as requests are answered."""

    def __init__(self, config: uvicorn.Config, started_at: Callable[[str], None]) -> None:
        super().__init__(config)
        self.started_at = started_at

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self.started_at(f"http://{f'[{host}]' if ':' in host else host}:{port}")


def serve(
    runs: Mapping[str, Run],
    options: ServerOptions,
    host: str = "127.0.0.1",
    port: int = 8000,
    started_at: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve runs until SIGINT or SIGTERM. Then no new requests are taken, and those that run are finished."""
    serve_app(create_app(runs, options), host, port, started_at, options.seconds)


def serve_app(
    app: ASGIApp,
    host: str,
    port: int,
    started_at: Callable[[str], None] = lambda address: None,
    seconds: float = 0.0,
    remedy: str = ANOTHER_PORT,
) -> None:
    """Serve an application until SIGINT or SIGTERM; requests that run then have these seconds. Port 0: a free one.

    `remedy` ends the error if the port is taken.
    """
    check_host(host)
    try:
        server = _Server(_configuration(app, host, port, seconds), started_at)
        logging.getLogger("uvicorn.error").addFilter(_is_no_system_error)
        server.run()
    except SystemExit as error:  # uvicorn exits if it cannot bind
        raise GlasshouseError(f"port {port} of {host} is not free or not allowed; {remedy}") from error
    finally:
        logging.getLogger("uvicorn.error").removeFilter(_is_no_system_error)


def check_host(host: str) -> None:
    """Refuse what is no address of a machine. An empty one would be all addresses of this machine."""
    try:
        if not host.strip():
            raise ValueError("it is empty")
        socket.getaddrinfo(host, None)
    except (OSError, ValueError) as error:
        raise GlasshouseError(
            f"is no address ({getattr(error, 'strerror', None) or error}); write 127.0.0.1 for this machine only, or "
            "0.0.0.0 for all its addresses",
            "host",
            host[:100],
        ) from None


def _is_no_system_error(record: logging.LogRecord) -> bool:
    """Without the line in which uvicorn tells that it cannot bind: the error that follows says so, with the remedy."""
    return not isinstance(record.msg, OSError)


@contextmanager
def background_server(runs: Mapping[str, Run], options: ServerOptions) -> Iterator[str]:
    """Serve runs in a thread on a free port of the loopback interface, and yield the address. Ends with the block."""
    with background_app(create_app(runs, options), options.seconds) as address:
        yield address


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
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=int(seconds) + 1,
    )
