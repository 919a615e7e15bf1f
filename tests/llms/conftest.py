"""A run that was trained for two steps, and a server of language models."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import glasshouse

from .scripted_server import ScriptedServer


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """The folder of a language model of characters with a context of 64; tests must not change it."""
    folder = tmp_path_factory.mktemp("tiny")
    text = folder / "text.txt"
    text.write_text("User: the cat sat on the mat.\nAssistant: and then? " * 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        run = glasshouse.train(
            "language-model",
            name="tiny",
            device="cpu",
            data={"files": [str(text)], "tokenizer": "characters", "vocabulary": 64, "context": 64},
            model={"width": 16, "layers": 1, "heads": 2},
            training={"steps": 2, "batch": 4, "threads": 1, "precision": "fp32"},
            evaluation={"every": 2},
        )
    return run.folder.path


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.close()
