"""The model directory inside an installed package: what is found, what is refused, and that no code of the package runs."""

import sys
from pathlib import Path

import pytest

from glasshouse.interop import formats
from glasshouse.specs.errors import CannotImport
from tests.refusals import refused


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that raises when it is imported."""
    folder = tmp_path / "site" / "made_up_weights"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('the package was imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return folder


def add_model(folder: Path, weights: str = "model.safetensors") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / weights).write_bytes(b"")
    return folder


def test_the_model_is_found_without_running_the_package(package):
    model = add_model(package / "files" / "model")
    (package / "files" / "config.json").write_text("{}")  # a config without weights is no model
    for name in ("made_up_weights", "made-up-weights"):
        assert formats.package_directory(name) == model
    assert "made_up_weights" not in sys.modules


def test_one_of_several_models_is_chosen_by_its_folder(package):
    small, large = add_model(package / "small"), add_model(package / "large", "model.safetensors.index.json")
    with refused(CannotImport, "package:made_up_weights/large", "package:made_up_weights/small"):
        formats.package_directory("made_up_weights")
    assert formats.package_directory("made_up_weights/small") == small
    assert formats.package_directory("made_up_weights/large") == large
    with refused(CannotImport, "made_up_weights/medium"):
        formats.package_directory("made_up_weights/medium")


def test_a_package_without_safetensors_is_refused(package):
    with refused(CannotImport, "made_up_weights", "config.json"):
        formats.package_directory("made_up_weights")
    add_model(package / "model", "pytorch_model.bin")
    with refused(CannotImport, "pytorch_model.bin"):
        formats.package_directory("made_up_weights")


@pytest.mark.parametrize("name", ["no_such_package", "os.path", "", "../outside", "json_"])
def test_a_name_of_no_package_is_refused(name):
    with refused(CannotImport, repr(name.partition("/")[0])):
        formats.package_directory(name)
