"""Public functions to tokenise a large text: by several processes, or by jobs on machines that share a folder."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.data import corpus_shards, prepared_data, shards, text_files
from glasshouse.data.corpus_shards import MANIFEST, PART_PATTERN, CorpusShards
from glasshouse.data.documents import SPLITS
from glasshouse.data.shards import Shard
from glasshouse.data.user_files.text import UserText
from glasshouse.launching import job_folder, submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.submission import Submission
from glasshouse.records import progress_bar, run_folder, user_paths
from glasshouse.specs import catalogue, recipes, spec_fields, spec_files
from glasshouse.specs.errors import DataError, Interrupted, LaunchError
from glasshouse.specs.spec import DataSpec
from glasshouse.training import parent_death


@dataclass(frozen=True)
class PreparedText:
    """What `prepare_data` made. The splits in `remade` were damaged, and have been made again."""

    folder: Path
    shards: dict[str, Shard]
    remade: tuple[str, ...] = ()


def prepare_data(
    files: Sequence[str],
    *,
    recipe: str = "language-model",
    output: str | PathLike[str] | None = None,
    tokenizer: str | None = None,
    jobs: int = 1,
    **settings: Any,
) -> PreparedText:
    """Tokenise text files into shards that `train` finds, in `jobs` processes.

    `tokenizer` is a kind of tokenizer or a tokenizer.json; other `settings` are fields of the data spec, such as
    `vocabulary=8192`. The defaults are those of the recipe that will be trained. It can be stopped at any moment. The same
    call goes on, and encodes only the parts that are missing. Several processes, on any machines, may make the same call at
    the same time: they share the work. Shards that exist are verified, and made again if they are damaged.
    """
    if jobs < 1:
        raise DataError("is below the minimum; choose 1 or more processes", "jobs", jobs)
    with _sigterm_interrupts():
        corpus = plan_data(files, recipe, output, tokenizer, **settings)
        try:
            remade = corpus.discard_damaged()
            if not corpus.finished:
                job_folder.record_parts(corpus.work_folder, PART_PATTERN, len(corpus.parts))
                words = _words(files, recipe=recipe, output=output, tokenizer=tokenizer, **settings)
                with _helpers(min(jobs, len(corpus.missing())) - 1, words), progress_bar.bar("encoding text") as bar:
                    corpus.finish(lambda what, share: bar(share, what))
        except KeyboardInterrupt:
            done = "" if corpus.finished else f" with {corpus.share_done():.0%} of the text encoded"
            raise Interrupted(signal.SIGINT, f"stopped{done}", "the same command") from None
    return PreparedText(corpus.folder, {split: shards.open_shard(corpus.folder, split) for split in SPLITS}, tuple(remade))


def plan_data(
    files: Sequence[str],
    recipe: str = "language-model",
    output: str | PathLike[str] | None = None,
    tokenizer: str | None = None,
    **settings: Any,
) -> CorpusShards:
    """Check files, load or train the tokenizer, and cut the text into parts. What another process did is not done again."""
    data, specials = _data_spec(files, recipe, tokenizer, settings)
    folder = None if output is None else user_paths.expand(output).absolute()
    with progress_bar.bar("reading text") as bar:
        source = UserText(data)
        preparation = prepared_data.Preparation(data, source, (), specials, lambda what, share: bar(share, what))
        corpus = preparation.corpus(source, output=folder)
        corpus.plan(lambda what, share: bar(share, what))
    return corpus


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Within the block, SIGTERM acts as Ctrl-C: temporary folders are removed. Only the main thread can handle signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def _helpers(count: int, words: Sequence[str]) -> Iterator[None]:
    """Within the block, so many other processes run the same command. They end with this one, also if it is killed.

    What fails in one of them fails here too, since the part that it leaves is encoded here.
    """
    command = [sys.executable, "-m", parent_death.__name__, str(os.getpid()), "glasshouse", *words]
    with ExitStack() as stack:
        for _ in range(count):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        yield


def _words(files: Sequence[str | Path], **options: Any) -> list[str]:
    """The command that prepares a text in one process."""
    given = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    return ["data", "prepare", *given, "--", *map(str, files)]


def _data_spec(
    files: Sequence[str], recipe: str, tokenizer: str | None, settings: dict[str, Any]
) -> tuple[DataSpec, tuple[str, ...]]:
    """The data spec of a recipe with these files and settings, and the special tokens that its task needs."""
    fields = {name: value for name, value in settings.items() if value is not None}
    if tokenizer is not None:
        is_kind = tokenizer in catalogue.names("tokenizer") or not (Path(tokenizer).suffix or Path(tokenizer).exists())
        fields["tokenizer" if is_kind else "tokenizer_file"] = tokenizer
    tables = recipes.tables_of(recipe)
    data = spec_files.unchecked({"data": tables.get("data", {})}, {"data": {**fields, "files": list(files)}}).data
    for name, field in spec_fields.fields(DataSpec).items():
        spec_fields.check(getattr(data, name), field.rule, f"data.{name}")
    task_name = tables.get("task", "next-token")
    if task_name == "next-token":
        return data, ()  # Importing the class of a task would import torch into every worker.
    task = catalogue.find("task", task_name)
    if task.columns:
        raise DataError(
            f"the task {task_name} of --recipe={recipe} reads rows with a {task.columns[0]}, not plain text; "
            "`glasshouse train` prepares these itself"
        )
    return data, task.specials


def submit_preparation(
    files: Sequence[str],
    *,
    recipe: str = "language-model",
    output: str | PathLike[str] | None = None,
    tokenizer: str | None = None,
    name: str | None = None,
    on: Slurm,
    **settings: Any,
) -> Submission:
    """Submit `prepare_data` to Slurm: an array of `jobs` workers that run the same command, and ask for no GPU.

    If the folder is finished, nothing is submitted. `settings` are fields of the data spec, as for `prepare_data`. In a dry
    run the script is made, and nothing is created or submitted.
    """
    from glasshouse.studies.places import MOST_TASKS  # imports torch, which a worker does not need

    data, _ = _data_spec(files, recipe, tokenizer, settings)
    paths = [user_paths.expand(file).absolute() for file in files]
    for path in paths:
        text_files.check_beginning(path)
    if data.tokenizer_file:
        tokenizers.load(data.tokenizer_file)
    folder = None if output is None else user_paths.expand(output).absolute()
    if folder:
        corpus_shards.check_folder(folder)
    own_name = re.sub(r"[^A-Za-z0-9._-]+", "-", (folder or paths[0]).name.partition(".")[0]).strip("-._")[:80]
    name = run_folder.checked_name((own_name or "text") if name is None else name, "job")
    if on.jobs is not None and not 1 <= on.jobs <= MOST_TASKS:
        raise LaunchError(f"is not between 1 and {MOST_TASKS}; choose another number of jobs", "jobs", on.jobs)
    checked = replace(on, gpus_per_node=0).settings().for_single_process()
    submission.check(checked, on.dry_run)
    tasks = range(min(on.jobs or checked.jobs or 1, MOST_TASKS))
    submitted = Submission()
    if on.dry_run or not folder or not (folder / MANIFEST).is_file():
        command = _words(paths, recipe=recipe, output=folder, tokenizer=tokenizer, **settings)
        request = JobRequest(name, job_folder.PARTS, str(folder or ""), command, tasks)
        submitted.add(request, checked, on.dry_run)
    return submitted
