"""Public functions for imports from Hugging Face, GGUF and llama2.c, for exports, and for certificates."""

import os
from pathlib import Path

import glasshouse
from glasshouse.certificates import checks
from glasshouse.certificates.checks import Check
from glasshouse.interop import formats, imported_model, imported_runs
from glasshouse.records import progress_bar, run_folder
from glasshouse.records.user_paths import StrPath
from glasshouse.runs.run import run_of
from glasshouse.specs.errors import CannotExport, GlasshouseError


def import_model(source: StrPath, name: str | None = None, tokenizer: StrPath | None = None) -> "glasshouse.Run":
    """Import a model as a run: a Hugging Face directory (hub:NAME downloads one, package:NAME is in an installed Python
    package), a GGUF file, or a llama2.c file. Without a name, the run is named after the source."""
    name = imported_runs.default_name(str(source)) if name is None else name
    run_folder.check_free(name)
    with progress_bar.bar("importing"):
        model = formats.read(source, Path(tokenizer) if tokenizer else None)
        run = imported_model.save_as_run(model, name)
    if model.tokenizer is None:
        progress_bar.say(
            f"{name} has no tokenizer, because the model has no tokenizer.json; to add one, import with --tokenizer FILE"
        )
    return glasshouse.Run(run, "cpu")


def export(run: StrPath, to: str, output: StrPath) -> Path:
    """Export a run for other programs.

    `to` is "huggingface" (a directory, with a model card), "onnx" (a directory) or "gguf" (a file).
    """
    if to not in formats.EXPORTS:
        raise GlasshouseError(f"is not a known format; choose one of: {', '.join(formats.EXPORTS)}", "to", to)
    opened, path = run_of(run, "cpu"), Path(output)
    if to != "onnx" and opened.spec.model.pruned_heads:
        raise CannotExport(f"{opened.name} has pruned heads, which this format cannot hold; export it to onnx")
    if os.path.lexists(path):
        raise GlasshouseError(f"output {path} already exists; choose another path or delete it")
    if not (above := path.absolute().parent).is_dir():
        raise GlasshouseError(f"the folder {above} for the output {path.name} does not exist; create it first")
    with progress_bar.bar(f"exporting to {to}"):
        formats.EXPORTS[to](opened, path)
    return path


def certify(run: StrPath, device: str = "auto") -> list[Check]:
    """Check that different ways to compute the same result agree; a check has the largest difference and its tolerance."""
    with progress_bar.bar(f"certifying {run}") as bar:
        return list(checks.certify(run_of(run, device), bar))
