"""A public function that imports a model of another program as a run."""

from os import PathLike
from pathlib import Path

from glasshouse.api.run import Run
from glasshouse.interop import formats, imported_model, imported_runs
from glasshouse.records import progress_bar, run_folder


def import_model(source: str | PathLike[str], name: str | None = None, tokenizer: str | PathLike[str] | None = None) -> Run:
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
    return Run(run, "cpu")
