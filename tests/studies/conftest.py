"""Fixtures of the study tests."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from glasshouse.studies import arms, matching
from glasshouse.studies.matching import MatchedArms
from glasshouse.training.job import Job

SMALL = (
    "data.tokenizer=characters",
    "data.context=16",
    "model.width=32",
    "model.layers=2",
    "model.heads=2",
    "training.batch=4",
    "training.steps=100",
    "training.precision=fp32",
    "training.threads=1",
    "evaluation.every=20",
)


@pytest.fixture(autouse=True)
def _studies_under_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GLASSHOUSE_STUDIES", raising=False)


@pytest.fixture
def match(tmp_path: Path) -> Callable[..., MatchedArms]:
    """A function that matches the arms of some command-line words, trained on a small text."""
    generator = random.Random(0)
    text = tmp_path / "text.txt"
    text.write_text("".join(generator.choice("abcdefgh  \n") for _ in range(4000)))

    def match_words(quantity: str, *words: str) -> MatchedArms:
        grid = arms.parse(("language-model", *SMALL, f"data.files={text}", *words))
        variants = arms.expand(grid)
        jobs = [Job.prepare(variant.spec, torch.device("cpu")) for variant in variants]
        return matching.match(quantity, [variant.name for variant in variants], jobs, list(grid.varied))

    return match_words
