"""Fixtures of the interop tests: small tokenizers, and a Llama-shaped run with its GGUF file."""

from pathlib import Path

import pytest

from glasshouse.data.sources.speeches import StateOfTheUnion
from glasshouse.interop import gguf_models
from glasshouse.runs.run import Run
from glasshouse.tokenizers.byte_pair import BytePair

from .gguf_models import LLAMA, random_run


@pytest.fixture(scope="session")
def byte_pairs():
    """A tokenizer for each split pattern, trained on the text that ships with the package."""
    texts = [document.text for document in StateOfTheUnion().documents("validation")]
    return {pattern: BytePair.train(texts, 600, pattern=pattern) for pattern in ("gpt-2", "gpt-4")}


@pytest.fixture
def llama_run(byte_pairs) -> Run:
    return random_run(byte_pairs["gpt-2"], LLAMA, "small")


@pytest.fixture
def llama_gguf(llama_run, tmp_path) -> Path:
    gguf_models.export(llama_run, tmp_path / "small.gguf")
    return tmp_path / "small.gguf"
