"""`glasshouse sbatch`: a script to submit by hand, and an example of a cluster file."""

from pathlib import Path

import pytest

from glasshouse.specs.errors import GlasshouseError, LaunchError, SpecError

from .program import SMALL, call, refused, some_text, worked


@pytest.fixture(autouse=True)
def cluster_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster file of the test, and a text to train on."""
    (tmp_path / "text.txt").write_text(some_text(100))
    (tmp_path / "mine.toml").write_text('partition = "gpu"\n')
    monkeypatch.setenv("GLASSHOUSE_CLUSTER", "mine.toml")
    return tmp_path / "mine.toml"


def script(*words: str) -> str:
    return worked(call("sbatch", "language-model", *SMALL, "data.files=text.txt", *words)).out


def test_the_script_needs_no_slurm(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    text = script("--time", "1:00:00", "--device", "cpu")
    assert text.startswith("#!/bin/bash\n#SBATCH --job-name=language-model\n")
    assert "#SBATCH --partition=gpu\n" in text
    assert f"arguments=(resume {runs}/language-model --device cpu)" in text
    assert "arguments=(train language-model model.width=16" in text
    assert not runs.exists(), "nothing is created"


def test_a_name_that_is_taken_is_not_used_again(runs: Path) -> None:
    (runs / "language-model").mkdir(parents=True)
    assert "--job-name=language-model-2\n" in script()


def test_the_example_is_a_cluster_file(cluster_file: Path) -> None:
    cluster_file.write_text(worked(call("sbatch", "--example")).out)
    assert "#SBATCH --time=4:00:00\n" in script()


def test_bad_input_is_refused(cluster_file: Path) -> None:
    words = ("sbatch", "language-model", *SMALL, "data.files=text.txt")
    refused(call("sbatch"), GlasshouseError)
    refused(call("sbatch", "langauge-model"), SpecError, "language-model")
    refused(call(*words, "model.heads=3"), SpecError)
    refused(call(*words, "data.files=missing.txt"), GlasshouseError, "missing.txt")
    refused(call(*words, "--time", "soon"), LaunchError, "soon")
    refused(call(*words, "--device", "tpu"), GlasshouseError, "tpu")
    refused(call(*words, "--nodes", "3"), SpecError, "training.batch=4", "training.processes=3")
    refused(call(*words, "training.replicas=2"), LaunchError, "training.replicas=2")
    cluster_file.write_text("partition = 1")
    refused(call(*words), LaunchError, "mine.toml")
