"""Runs that several inspection tests use: a translator and a judge of scenes, a letter translator, a classifier."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import glasshouse
from glasshouse.data.sources.scenes import entailment, pictures, translations
from glasshouse.data.sources.scenes.captions import random_english
from glasshouse.runs.run import Run

from . import inspected_runs, labelled_rows, letter_translation

SCENE_SETTINGS = {
    "model": {"width": 16, "layers": 1, "heads": 2, "feed_forward": 32},
    "training": {"steps": 3, "epochs": 0.0, "batch": 8, "threads": 1, "precision": "fp32"},
    "evaluation": {"every": 100, "prompts": []},
}
CLASSIFIER_SETTINGS = {
    # Without a wide part the encoder alone tells the classes apart.
    "model": {"width": 16, "layers": 1, "heads": 2, "dropout": 0.0, "head": {"hidden": 8, "wide": 0}},
    "training": {"epochs": 4, "batch": 8, "threads": 1, "precision": "fp32", "learning_rate": 3e-3, "ema": 0.0},
    "evaluation": {"every": 20},
}


@pytest.fixture(scope="package")
def shared_runs(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A runs folder for the runs that no test changes."""
    return tmp_path_factory.mktemp("shared_runs")


@pytest.fixture(scope="package")
def small_scenes() -> Iterator[None]:
    """The translations of scenes have a tenth of their documents."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translations, "SIZES", {split: size // 10 for split, size in translations.SIZES.items()})
        yield


@pytest.fixture(scope="package")
def scene_translator(shared_runs: Path, small_scenes: None) -> Path:
    """The folder of a translator of scenes that is almost untrained."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(shared_runs))
        return glasshouse.train("scene-translator", name="translator", device="cpu", **SCENE_SETTINGS).folder.path


@pytest.fixture(scope="package")
def judge(shared_runs: Path) -> Path:
    """The folder of a judge of entailment that is almost untrained."""
    file = shared_runs / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in entailment_rows(200)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(shared_runs))
        data = {"source": "", "files": [str(file)]}
        return glasshouse.train("scene-entailment", name="judge", device="cpu", data=data, **SCENE_SETTINGS).folder.path


def entailment_rows(count: int) -> Iterator[dict[str, str]]:
    """Pairs of captions with their correct labels; every second pair is a caption and itself."""
    generator = Random(0)
    for _ in range(count):
        meanings = [entailment.random_meaning(generator) for _ in range(2)]
        sentences = [f"{random_english(meaning, generator)}." for meaning in meanings]
        yield {"text": "\n".join(sentences), "label": entailment.label_pair(*meanings)}
        yield {"text": "\n".join(sentences[:1] * 2), "label": "entailment"}


@pytest.fixture(scope="package")
def letter_translator(shared_runs: Path) -> Run:
    """An encoder-decoder that no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(shared_runs)
        patch.setenv("GLASSHOUSE_RUNS", str(shared_runs))
        return letter_translation.train_translator(model={"encoder_layers": 1})


@pytest.fixture
def labelled_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in labelled_rows.rows()))
    return path


@pytest.fixture
def classifier(labelled_file: Path) -> Run:
    """A trained classifier of `labelled_file`, the run "tiny". Each test has its own, because tests change the file."""
    data = {"files": [str(labelled_file)], "validation": 0.1, "test": 0.1, "tokenizer": "words", "context": 64}
    return glasshouse.train("classifier", name="tiny", device="cpu", data=data, **CLASSIFIER_SETTINGS)


@pytest.fixture(
    scope="package",
    params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind in inspected_runs.SLOW)) for kind in inspected_runs.KINDS],
)
def inspected(request: pytest.FixtureRequest, shared_runs: Path) -> Run:
    """A small run of each kind of model, which no test changes; its name is its kind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(shared_runs)
        patch.setenv("GLASSHOUSE_RUNS", str(shared_runs))
        return inspected_runs.train_kind(request.param, shared_runs)


@pytest.fixture(params=["scene-describer", "scene-describer-decoder-only"])
def describer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of each kind of model that describes pictures, after one step."""
    monkeypatch.setattr(pictures, "SIZES", {"train": 16, "validation": 4, "test": 4})
    small = ("training.steps=1", "training.batch=4", "training.threads=1", "training.precision=fp32", "evaluation.every=1")
    return glasshouse.train(request.param, *small, "model.layers=2", name="describer", device="cpu")
