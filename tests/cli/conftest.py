"""Very small runs and studies, each trained once per session. A test that changes one works on a copy."""

import random
import shutil
from pathlib import Path

import pytest

from glasshouse.training import cost_plan
from tests import needs

from .program import SMALL, call, some_text, train, worked
from .study_commands import POSITIONS, compare

# Besides the last checkpoint, the run keeps two more: the best by validation, which is that of the last evaluation, and the
# one before it.
STEPS = ("training.steps=8", "training.checkpoint_every=2", "evaluation.every=4")
LLAMA = ("model.position=rotary", "model.norm=rms", "model.activation=swiglu", "model.attention=grouped-query")


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of a few pages."""
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text(some_text())
    return file


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, text: Path) -> Path:
    """The folder of a finished run; tests must not change it."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        worked(train(*STEPS, f"data.files={text}"))
    return folder / "tiny"


@pytest.fixture
def run(finished: Path, runs: Path) -> Path:
    """A copy of the finished run, which commands find by the name `tiny`."""
    return shutil.copytree(finished, runs / "tiny")


@pytest.fixture
def llama_run(tmp_path: Path) -> str:
    """The name of a run with the architecture of Llama, trained for two steps on mine.txt."""
    (tmp_path / "mine.txt").write_text(some_text())
    worked(train(f"data.files={tmp_path / 'mine.txt'}", "training.steps=2", "evaluation.every=2", *LLAMA))
    return "tiny"


@pytest.fixture
def huggingface_folder(llama_run: str, tmp_path: Path) -> Path:
    """The Llama run, exported as a Hugging Face directory."""
    worked(call("export", llama_run, "--to", "huggingface", "--output", str(tmp_path / "out")))
    return tmp_path / "out"


@pytest.fixture
def gguf_file(llama_run: str, tmp_path: Path) -> Path:
    """The Llama run, exported as a GGUF file."""
    needs.package("gguf")
    worked(call("export", llama_run, "--to", "gguf", "--output", str(tmp_path / "tiny.gguf")))
    return tmp_path / "tiny.gguf"


@pytest.fixture(scope="session")
def masked_run(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, text: Path) -> Path:
    """The folder of a masked-token run."""
    folder = tmp_path_factory.mktemp("masked")
    options = (*SMALL, "training.steps=2", "evaluation.every=2", f"data.files={text}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder))
        worked(call("train", "masked-model", *options, "--name", "masked", "--device", "cpu"))
    return folder / "masked"


@pytest.fixture
def labelled_rows(tmp_path: Path) -> Path:
    """A file of rows with two classes; each text begins with the name of its class."""
    generator = random.Random(0)
    rows = [(label, f"{label}{generator.choice('abc')} {number}") for number in range(60) for label in ("ba", "do")]
    path = tmp_path / "rows.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    return path


@pytest.fixture
def short_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cost plans measure two steps only, and studies are stored in the current folder."""
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 2)


@pytest.fixture(scope="session")
def short_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file of one page."""
    file = tmp_path_factory.mktemp("page") / "text.txt"
    file.write_text(some_text(600))
    return file


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, short_text: Path) -> Path:
    """The folder of a finished study; tests must not change it."""
    folder = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_STUDIES", str(folder))
        patch.setattr(cost_plan, "TIMING_STEPS", 2)
        worked(compare(short_text, POSITIONS, "--seeds", "3", "--name", "positions"))
    return folder / "positions"


@pytest.fixture
def study(finished_study: Path) -> Path:
    """A copy of the finished study, which commands find by the name `positions`."""
    return shutil.copytree(finished_study, Path("studies/positions"))
