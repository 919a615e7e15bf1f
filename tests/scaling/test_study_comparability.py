"""Which studies can be compared: the same metric, data and tokenizer."""

from pathlib import Path

import pytest

from glasshouse.scaling import recipe_transfer
from glasshouse.specs.errors import DataError, RunError
from tests.refusals import refused

from .small_studies import write_study


@pytest.fixture(autouse=True)
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GLASSHOUSE_STUDIES", str(tmp_path / "studies"))
    return tmp_path / "studies"


def test_recipes_on_the_same_data_are_compared(studies):
    write_study(studies / "a", "model.norm=layer")
    write_study(studies / "b", "model.norm=rms")
    assert recipe_transfer.check_sources("a", "b") == []
    write_study(studies / "longer", "data.context=32")
    [note] = recipe_transfer.check_sources("a", "longer")
    assert "the contexts differ" in note
    write_study(studies / "older", data=None)
    [note] = recipe_transfer.check_sources("a", "older")
    assert "not known" in note


def test_losses_that_are_not_comparable_are_refused(studies):
    write_study(studies / "a", "data.vocabulary=64")
    write_study(studies / "words", "data.tokenizer=byte-pair", "data.vocabulary=512")
    write_study(studies / "other", data="other")
    write_study(studies / "test", metric="test.loss")
    write_study(studies / "classes", "data.files=mine.tsv", recipe="classifier")
    with refused(DataError, "data.vocabulary=64", "data.vocabulary=512", "words"):
        recipe_transfer.check_sources("a", "words")
    with refused(DataError, "other"):
        recipe_transfer.check_sources("a", "other")
    with refused(DataError, "test.loss", "validation.loss"):
        recipe_transfer.check_sources("a", "test")
    with refused(DataError, "classes"):
        recipe_transfer.check_sources("a", "classes")
    with refused(DataError, "a"):
        recipe_transfer.check_sources("a", studies / "a")
    with refused(RunError, "none"):
        recipe_transfer.check_sources("a", "none")


def test_the_loss_of_classes_does_not_depend_on_the_tokenizer(studies):
    write_study(studies / "a", "data.files=mine.tsv", recipe="classifier")
    write_study(studies / "b", "data.files=mine.tsv", "data.vocabulary=128", recipe="classifier")
    assert recipe_transfer.check_sources("a", "b") == []


def test_a_file_cannot_be_checked(studies, tmp_path):
    write_study(studies / "a")
    for name in ("x.csv", "y.csv"):
        (tmp_path / name).write_text("N,D,L\n")
    [note] = recipe_transfer.check_sources("a", tmp_path / "x.csv")
    assert note.startswith("x.csv: nothing tells")
    [note] = recipe_transfer.check_sources(tmp_path / "x.csv", tmp_path / "y.csv")
    assert note.startswith("x.csv and y.csv")
    with refused(DataError):
        recipe_transfer.check_sources(tmp_path / "x.csv", tmp_path / "." / "x.csv")
