"""`glasshouse export`: refusals, and export from Python."""

from pathlib import Path

import glasshouse
from glasshouse.specs.errors import CannotExport, GlasshouseError, RunError
from tests import needs

from .program import (
    call,
    refused,
    train,
    worked,
)


def test_mistakes_of_export(llama_run: str, huggingface_folder: Path, tmp_path: Path) -> None:
    needs.package("gguf")
    refused(
        call("export", llama_run, "--to", "huggingface", "--output", str(huggingface_folder)),
        GlasshouseError,
        str(huggingface_folder),
    )
    worked(call("export", llama_run, "--to", "gguf", "--output", str(tmp_path / "one.gguf")))
    refused(call("export", llama_run, "--to", "gguf", "--output", str(tmp_path / "one.gguf")), GlasshouseError)
    refused(call("export", llama_run, "--to", "gguf", "--output", "."), GlasshouseError)
    refused(call("export", llama_run, "--to", "gguf", "--output", str(tmp_path / "nowhere" / "one.gguf")), GlasshouseError)
    refused(call("export", "nobody", "--to", "gguf", "--output", "a.gguf"), RunError)
    assert call("export", llama_run, "--to", "pickle", "--output", "a").code == 2
    worked(
        train(
            f"data.files={tmp_path / 'mine.txt'}",
            "training.steps=2",
            "model.position=alibi",
            "evaluation.every=2",
            name="alibi",
        )
    )
    for form in ("huggingface", "gguf"):
        refused(call("export", "alibi", "--to", form, "--output", str(tmp_path / form)), CannotExport)
        assert not (tmp_path / form).exists()


def test_from_python(llama_run: str, tmp_path: Path) -> None:
    needs.package("gguf")
    path = glasshouse.export(llama_run, "gguf", tmp_path / "again.gguf")
    again = glasshouse.import_model(path, "again")
    assert (
        again.sample("ba", tokens=5, temperature=0)[0].text
        == glasshouse.open_run(llama_run).sample("ba", tokens=5, temperature=0)[0].text
    )
