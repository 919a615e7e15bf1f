"""A language model, and a server on a free port of this machine."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import glasshouse
from glasshouse.runs.run import Run
from tests import needs

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
    # Images for GPUs lack the packages of the server, and read this file all the same.
    needs.package("uvicorn")
    from glasshouse.pages import playground_page
    from glasshouse.serving.application import create_app
    from glasshouse.serving.served_model import ServerOptions
    from glasshouse.serving.server import background_app

    with background_app(create_app(runs, ServerOptions(**options), playground_page.render)) as address:
        yield address


@pytest.fixture(scope="session")
def address(language_model: Run) -> Iterator[str]:
    with serving({"small": language_model}) as address:
        yield address
