"""Public functions that list recipes and runs, and compare, rename, delete and pack runs. They do not import torch."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from glasshouse.records import plain_files, progress_bar, run_archive, run_folder, run_list
from glasshouse.records.run_entries import RunEntry, RunEntryReader
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.run_list import RunDifferences
from glasshouse.records.user_paths import StrPath
from glasshouse.specs import catalogue, declared, spec_files
from glasshouse.specs import recipes as recipe_files
from glasshouse.specs.recipes import Recipe
from glasshouse.specs.spec import SECTIONS

# The title of a page is among its first bytes.
HEAD_BYTES = 2**16


def recipes() -> list[Recipe]:
    """The recipes, which are the named specs of the package."""
    return list(recipe_files.all_recipes().values())


@dataclass(frozen=True)
class RecipeField:
    """A field of a recipe's spec: its dotted name, its value, its meaning, and the values that it may have."""

    name: str
    value: object
    about: str
    words: tuple[str, ...] = ()


def recipe_fields(name: str) -> list[RecipeField]:
    """Every field of a recipe, including the fields that its parts declare."""
    spec = spec_files.unchecked(recipe_files.tables_of(name))
    fields = [RecipeField("task", spec.task, "the task of the model", tuple(catalogue.names("task")))]
    for section in SECTIONS:
        for field, (_, rule, _) in declared.fields_of(spec, section).items():
            words = rule.choices or (tuple(catalogue.names(rule.family)) if rule.family else ())
            name = f"{section}.{field}"
            fields.append(RecipeField(name, declared.value_of(spec, name), rule.about, words))
    return fields


def runs_overview(sort: str | None = None, filters: Sequence[str] = ()) -> list[RunEntry]:
    """An entry for every run in the runs folder, oldest first. No model is loaded.

    `sort` is a field, or -FIELD for the largest first: name, status, steps, data, task, recipe, date, a metric
    (validation.loss, or loss) or a field of the spec (model.width). `filters` keep the runs with FIELD=VALUE, FIELD<NUMBER
    or FIELD>NUMBER.
    """
    reader = RunEntryReader(all_fields=True)
    return run_list.arranged([reader.read(run.path) for run in run_folder.all_runs()], sort, filters)


def runs_folder() -> Path:
    """The folder that holds runs: `GLASSHOUSE_RUNS`, or `runs` under the current folder."""
    return run_folder.root()


def run_differences(first: StrPath, second: StrPath) -> RunDifferences:
    """The fields of the specs in which two runs differ, and their final metrics side by side."""
    return run_list.differences(run_folder.find(first), run_folder.find(second))


def rename_run(old: str, new: str) -> Path:
    """Rename a run of the runs folder, and return its new path. A run that is being trained is refused."""
    run = run_list.rename(old, new)
    _tell_of_old_report(run)
    return run.path


def _tell_of_old_report(run: RunFolder) -> None:
    """Tell how to make a report again that has another name than the run, in its title and in its commands."""
    with suppress(OSError), plain_files.open_to_read(run.report_file) as page:
        if f"<title>{run.name} ".encode() not in page.read(HEAD_BYTES):
            progress_bar.say(f"its report still has the old name; make it again with: glasshouse report {run.name}")


def delete_runs(*names: str, confirm: Callable[[list[str]], bool] = lambda names: True) -> list[str]:
    """Delete runs of the runs folder, and return their names. A run that is being trained is refused, and no run is deleted.

    `confirm` is asked once, after the checks; if it says no, nothing is deleted.
    """
    return run_list.delete(names, confirm)


def pack(run: StrPath, output: StrPath | None = None) -> Path:
    """Write a run to one file: weights, optimiser state, spec, tokenizer, metrics and report. Returns the path of the file.

    The default is RUN.tar.gz in the current folder. Its data are not packed. A list of SHA-256 digests is.
    """
    folder = run_folder.find(run)
    path = Path(output) if output else Path(f"{folder.name}{run_archive.SUFFIX}")
    with progress_bar.bar(f"packing {folder.name}") as bar:
        run_archive.pack(folder, path, bar)
    return path


def unpack(file: StrPath, name: str | None = None, max_bytes: int = run_archive.MOST_BYTES) -> Path:
    """Make a run from a file that `pack` wrote, under its own name or another, and return the path of its folder.

    Every file is compared with its digest. A file with anything else in it than plain files of a run, or with more than
    `max_bytes` of them, is refused, and nothing of it remains.
    """
    with progress_bar.bar(f"unpacking {Path(file).name}") as bar:
        folder = run_archive.unpack(Path(file), name, max_bytes, bar)
    _tell_of_old_report(folder)
    data = folder.tables().get("data", {})
    if absent := [path for path in data.get("files", ()) if not Path(path).exists()]:
        progress_bar.say(
            f"the data of {folder.name} are not on this machine ({', '.join(absent)}); sample and classify work without "
            "them, evaluate works with --data FILE"
        )
    return folder.path
