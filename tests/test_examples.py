"""The examples work as another person would use them: installed by pip, found by their word, held to the shared battery."""

import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch

from glasshouse import parts
from glasshouse.inspection.capture import capture
from glasshouse.specs.errors import GlasshouseError
from tests import needs

from .cli.program import SMALL, call, environment, finish, refused, some_text, start, worked

ROOT = Path(__file__).parent.parent
TWO_STEPS = ("data.files=text.txt", "training.steps=2", "evaluation.every=2")
TRAIN = ("train", "demo-lm", "model.attention=cosine", *SMALL, *TWO_STEPS, "--name", "tiny", "--device", "cpu")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where pip put the cosine example. What pip builds on the way stays out of the tree."""
    if importlib.util.find_spec("pip") is None:
        needs.skip("packages")
    folder = tmp_path_factory.mktemp("examples")
    source = shutil.copytree(ROOT / "examples" / "cosine_attention", folder / "source")
    # Without setuptools here, pip fetches one.
    here = ["--no-build-isolation", "--no-index"] if importlib.util.find_spec("setuptools") else []
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *here]
    done = subprocess.run([*install, "--target", folder / "installed", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "installed"


def attentions(listing: str) -> list[str]:
    """The words for model.attention in what `glasshouse recipes` shows."""
    line = next(line for line in listing.splitlines() if "model.attention" in line)
    return [word.strip() for word in line.split("the attention part:")[1].split(",")]


def test_its_word_is_listed(installed: Path) -> None:
    listed = worked(finish(start("recipes", "demo-lm", env=environment(PYTHONPATH=str(installed))))).out
    assert "cosine" in attentions(listed)
    assert "cosine" not in attentions(worked(call("recipes", "demo-lm")).out)


@pytest.mark.slow
def test_a_run_with_it_trains(installed: Path, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(some_text())
    worked(finish(start(*TRAIN, env=environment(PYTHONPATH=str(installed)))))
    run = runs / "tiny"
    assert tomllib.loads((run / "spec.toml").read_text())["model"]["attention"] == "cosine"
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert steps[-1]["step"] == 2
    assert (run / "report.html").exists()


def test_without_the_package_its_word_is_refused(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(some_text())
    refused(call(*TRAIN), GlasshouseError, "model.attention='cosine'", "dot-product")
    assert not runs.exists()


def test_it_is_what_its_formula_says(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    cosine = importlib.import_module("glasshouse_cosine").CosineAttention
    torch.manual_seed(0)
    for position in (parts.NoPosition(), parts.Alibi(heads=2), parts.Rotary(head_width=8)):
        attention = cosine(width=16, heads=2, position=position)
        torch.nn.init.uniform_(attention.gain, 0.5, 2.0)
        x, positions = torch.randn(3, 7, 16), torch.arange(7)
        fused = attention(x, parts.Causal(), positions)
        with capture(attention, "*") as seen:
            watched = attention(x, parts.Causal(), positions)
        torch.testing.assert_close(fused, watched)

        cosines = torch.cosine_similarity(seen["queries"][:, :, :, None], seen["keys"][:, :, None], dim=-1)
        scores = 8**0.5 * attention.gain[:, None, None] * cosines
        bias = position.bias(positions, positions)
        torch.testing.assert_close(seen["scores"], scores if bias is None else scores + bias)
        later = torch.ones(7, 7, dtype=torch.bool).triu(1)
        weights = seen["scores"].masked_fill(later, -torch.inf).softmax(-1)
        torch.testing.assert_close(seen["weights"], weights)
        torch.testing.assert_close(seen["mixed"], weights @ seen["values"])


@pytest.mark.slow
def test_the_battery_finds_it_and_it_passes(installed: Path, tmp_path: Path) -> None:
    battery = [sys.executable, "-m", "pytest", "tests/parts/test_battery.py", "-k", "cosine", "-m", "not slow"]
    outcome = subprocess.run(
        [*battery, "-p", "no:cacheprovider", "--basetemp", tmp_path / "battery"],
        cwd=ROOT,
        env=environment(PYTHONPATH=str(installed), PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    passed = re.search(r"(\d+) passed", outcome.stdout)
    assert passed is not None, outcome.stdout
    assert int(passed[1]) > 10
