"""Fixtures of the tests of generation: a tokenizer, and a masked-token run for each kind of tokenizer."""

import pytest

import glasshouse
from glasshouse.tokenizers.byte_pair import BytePair

TEXT = "My fellow Americans, the state of our union is strong — naïve café 🌱. " * 20
MASKED_TEXT = "the wren and the owl and the crow sat on an old oak; naïve – “owl” 🦉 café\n" * 60
TINY = {
    "model": {"width": 16, "layers": 1, "heads": 2},
    "training": {"steps": 3, "batch": 4, "threads": 1, "precision": "fp32"},
    "evaluation": {"every": 100},
}


@pytest.fixture(scope="package")
def tokenizer():
    return BytePair.train([TEXT], 280)


@pytest.fixture(scope="package", params=["byte-pair", "words", "characters"])
def masked_run(request, tmp_path_factory, shared_cache):
    folder = tmp_path_factory.mktemp("masked")
    (folder / "text.txt").write_text(MASKED_TEXT)
    data = {"files": [str(folder / "text.txt")], "tokenizer": request.param, "vocabulary": 296, "context": 24}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSHOUSE_RUNS", str(folder / "runs"))
        run = glasshouse.train("masked-model", name="m", device="cpu", data=data, **TINY)
        assert run.model is not None
    return run
