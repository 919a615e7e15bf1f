"""Public functions that serve runs by the OpenAI API, and that write or serve the pages over all runs and studies."""

import os
import secrets
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from glasshouse.api import page_index
from glasshouse.records import progress_bar
from glasshouse.records.user_paths import StrPath
from glasshouse.serving import check_installed
from glasshouse.specs.errors import GlasshouseError

# A token can be guessed if it is shorter.
SHORTEST_TOKEN = 16
# The seconds that the pages beside a training have to end.
ENDING_SECONDS = 10


def write_pages(folder: StrPath | None = None) -> Path:
    """Write the index page over all runs and studies, link the pages that exist, and return the path of the index.

    `folder` has runs and studies, or the folders `runs` and `studies`; by default those of the environment are taken. The
    index is `index.html` in this folder, or in the runs folder. Writing it again refreshes it.
    """
    return page_index.write(page_index.folders_of(folder))


def serve_pages(
    folder: StrPath | None = None,
    port: int = 8010,
    token: str | None = None,
    started_at: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the index and a live view of each run on the loopback interface until a signal. Port 0 takes any free one.

    `started_at` is called with the address, which contains the token: without it every request is refused. By default the
    token is random.
    """
    folders = page_index.folders_of(folder)
    if token is None:
        token = secrets.token_urlsafe(24)
    elif len(token) < SHORTEST_TOKEN:
        raise GlasshouseError(f"the token has {len(token)} characters; choose {SHORTEST_TOKEN} or more, or leave it out")
    check_installed("glasshouse pages --live")
    from glasshouse.api.pages_application import create_pages_app
    from glasshouse.serving import server

    def started(address: str) -> None:
        started_at(f"{address}/?token={token}")

    another = "choose another --port, or --port 0 for any free one"
    server.serve_app(create_pages_app(folders, token), "127.0.0.1", port, started, remedy=another)


def open_browser(address: str) -> bool:
    """Open an address in the user's browser; returns False where there is none to open, as on a server."""
    has_display = sys.platform == "darwin" or any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    return has_display and webbrowser.open(address)


@contextmanager
def live_pages() -> Iterator[None]:
    """Serve the pages of the runs and studies in another process, beside the training in this block.

    It opens them in a browser, or prints the address. On a terminal they are served until Ctrl-C, also after the block.
    """
    check_installed("glasshouse train --live")
    command = [sys.executable, "-m", "glasshouse", "pages", "--live", "--open", "--port", "0"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        try:
            if server.poll() is None and progress_bar.is_terminal():
                progress_bar.say("the training has ended; its pages are served until Ctrl-C", even_if_quiet=True)
                server.wait()
        except KeyboardInterrupt:
            pass  # the server has received it too
        finally:
            server.terminate()
            try:
                server.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()


def serve(
    runs: Sequence[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    api_key: str | None = None,
    max_concurrent: int = 32,
    max_tokens: int = 4096,
    timeout: float = 600.0,
    raw: bool = False,
    device: str = "auto",
    dtype: str = "float32",
    started_at: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve runs by the OpenAI API until a signal; `started_at` is called with the address. Port 0 takes any free one.

    `max_concurrent` texts are generated at the same time. `raw` reports log-probabilities before the logit bias.
    `dtype` is the number format of the weights: "float32", "bfloat16" or "int8".
    """
    check_installed("glasshouse serve")
    import torch

    from glasshouse.pages import playground_page
    from glasshouse.runs.run import Run
    from glasshouse.serving import server
    from glasshouse.serving.application import create_app
    from glasshouse.serving.served_model import ServerOptions

    server.check_host(host)
    if api_key is not None and not ((api_key := api_key.strip()) and api_key.isprintable()):
        raise GlasshouseError("the API key is empty or has control characters; choose another, or leave the option out")
    # Every thread that computes in parallel keeps workers, and if there are more of them than cores, all of them are slow.
    # Texts are generated in another thread, which has the workers.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        opened: dict[str, Run] = {}
        for name in runs:
            run = Run(name, device, dtype)
            if run.name in opened:
                raise GlasshouseError(f"two runs are named {run.name!r}; name each once, or rename one")
            _ = run.model, run.tokenizer  # a run without a checkpoint is refused now, not at the first request
            opened[run.name] = run
        options = ServerOptions(api_key, max_concurrent, most_tokens=max_tokens, seconds=timeout, raw=raw, threads=threads)
        server.serve_app(create_app(opened, options, playground_page.render), host, port, started_at, timeout)
    finally:
        torch.set_num_threads(threads)
