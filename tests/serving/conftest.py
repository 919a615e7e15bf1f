"""A language model, and a server on a free port of this machine."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

import glasshouse
from glasshouse.runs.run import Run
from glasshouse.serving.application import create_app
from glasshouse.serving.served_model import ServerOptions

TEXT = "the cat sat on the mat, and the dog sat on the log. who sat where? naïve café. "
SMALL = (
    "data.vocabulary=290",
    "data.context=48",
    "model.width=16",
    "model.layers=2",
    "model.heads=2",
    "training.steps=60",
    "training.batch=8",
    "training.learning_rate=1e-2",
    "training.threads=1",
    "training.precision=fp32",
)


@pytest.fixture(scope="session")
def language_model(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Run]:
    """A byte-pair model that was trained for a moment."""
    folder = tmp_path_factory.mktemp("serving")
    text = folder / "text.txt"
    text.write_text(TEXT * 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        patch.setenv("GLASSHOUSE_CACHE", str(shared_cache))
        yield glasshouse.train("language-model", f"data.files={text}", *SMALL, name="small", device="cpu")


@contextlib.contextmanager
def serving(runs: dict[str, Run], **options: object) -> Iterator[str]:
    """The address of a server in a thread of this process."""
    config = uvicorn.Config(create_app(runs, ServerOptions(**options)), port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def address(language_model: Run) -> Iterator[str]:
    with serving({"small": language_model}) as address:
        yield address
