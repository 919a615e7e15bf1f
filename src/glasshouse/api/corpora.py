"""Public functions to tokenise a large text: by several processes, or by jobs on machines that share a folder."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse import formatting
from glasshouse.data import prepared_data, shards
from glasshouse.data.corpus_shards import PART_PATTERN, CorpusShards
from glasshouse.data.documents import SPLITS
from glasshouse.data.prepared_folder import TOKENIZER
from glasshouse.data.shards import Shard
from glasshouse.launching import job_folder
from glasshouse.records import progress_bar, user_paths
from glasshouse.specs import catalogue, recipes, spec_fields
from glasshouse.specs.errors import DataError, GlasshouseError, Interrupted
from glasshouse.specs.spec import DataSpec
from glasshouse.training import parent_death

LOOK_EVERY = 0.2
"""Seconds between two looks at what the workers have done."""


@dataclass(frozen=True)
class PreparedText:
    """What `prepare_data` did. `shards` is empty as long as parts are missing."""

    folder: Path
    shards: dict[str, Shard]
    parts: int = 0
    missing: int = 0
    remade: tuple[str, ...] = ()

    @property
    def tokenizer_file(self) -> Path:
        return self.folder / TOKENIZER


def plan_data(
    files: Sequence[str],
    *,
    recipe: str = "language-model",
    output: str | PathLike[str] | None = None,
    tokenizer: str | None = None,
    **settings: Any,
) -> CorpusShards:
    """Check files, load or train the tokenizer, and cut the text into parts. What another process did is not done again.

    The result has `work_on(number, workers)`, which encodes parts, and `finish()`, which makes the shards. Several processes
    may call both at the same time. `tokenizer` is a kind of tokenizer or a tokenizer.json; other `settings` are fields of
    the data spec, such as `vocabulary=8192`. The defaults are those of the recipe that will be trained.
    """
    data, specials = data_spec_of(tuple(files), recipe, tokenizer, settings)
    folder = None if output is None else user_paths.expand(output).absolute()
    with progress_bar.bar("reading text") as bar:
        corpus = prepared_data.corpus_shards_of(data, specials, folder, lambda what, share: bar(share, what))
        corpus.plan(lambda what, share: bar(share, what))
    return corpus


def prepare_data(
    files: Sequence[str],
    *,
    recipe: str = "language-model",
    output: str | PathLike[str] | None = None,
    tokenizer: str | None = None,
    jobs: int = 1,
    part: str | None = None,
    **settings: Any,
) -> PreparedText:
    """Tokenise text files into shards that `train` finds, in `jobs` processes; see `plan_data` for the other arguments.

    It can be stopped at any moment. The same call goes on, and encodes only the parts that are missing. With `part="2/8"`,
    the call is the second of eight workers, on any machine: it encodes parts and does not wait for the others. A last call
    without `part` finishes the work. Shards that exist are verified, and made again if they are damaged.
    """
    if jobs < 1:
        raise DataError("is below the minimum; choose 1 or more processes", "jobs", jobs)
    worker = None if part is None else _worker(part)
    with _sigterm_interrupts():
        return _prepare(files, recipe, output, tokenizer, jobs, worker, settings)


def _prepare(
    files: Sequence[str],
    recipe: str,
    output: Any,
    tokenizer: str | None,
    jobs: int,
    worker: tuple[int, int] | None,
    settings: dict[str, Any],
) -> PreparedText:
    corpus = plan_data(files, recipe=recipe, output=output, tokenizer=tokenizer, **settings)
    if not corpus.finished:
        job_folder.record_parts(corpus.work_folder, PART_PATTERN, len(corpus.parts))
    try:
        if worker:
            with progress_bar.bar("encoding text") as bar:
                corpus.work_on(*worker, lambda what, share: bar(share, what))
            if not corpus.finished:
                return PreparedText(corpus.folder, {}, len(corpus.parts), len(corpus.missing()))
        remade = () if worker else tuple(_complete(corpus, jobs, files, recipe, output, tokenizer, settings))
    except KeyboardInterrupt:
        done = "" if corpus.finished else f" with {corpus.share_done():.0%} of the text encoded"
        raise Interrupted(signal.SIGINT, f"stopped{done}", "the same command") from None
    return PreparedText(corpus.folder, {split: shards.open_shard(corpus.folder, split) for split in SPLITS}, remade=remade)


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


def _complete(corpus: CorpusShards, jobs: int, files: Sequence[str], *arguments: Any) -> list[str]:
    """Make the shards, or verify them if they exist. Returns what was damaged and has been made again."""
    remade = []
    if corpus.finished and (damaged := corpus.damaged()):
        remade = [f"the {split} split" for split in damaged]
        corpus.discard()
        corpus.plan()
    if not corpus.finished:
        with progress_bar.bar("encoding text") as bar:
            workers = min(jobs, len(corpus.missing()))
            if workers > 1:
                commands = [_command(f"{number}/{workers}", files, *arguments) for number in range(1, workers + 1)]
                _run_workers(corpus, commands, bar)
            remade += [f"part {index + 1}" for index in corpus.finish(lambda what, share: bar(share, what))]
    return remade


def _run_workers(corpus: CorpusShards, commands: list[list[str]], bar: Callable[..., None]) -> None:
    """Run the commands of several workers, and wait until they have ended. The first error of one is raised."""
    with ExitStack() as stack:
        processes = []
        for command in commands:
            errors = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            stack.callback(_stop, process)
            processes.append((process, errors))
        while any(process.poll() is None for process, _ in processes):
            if any(process.poll() for process, _ in processes):
                break
            bar(corpus.share_done(), "encoding text")
            time.sleep(LOOK_EVERY)
        for process, errors in processes:
            if status := process.poll():
                errors.seek(0)
                said = errors.read().strip()
                own = [line.removeprefix("glasshouse: ") for line in said.splitlines() if line.startswith("glasshouse: ")]
                reason = own[-1] if own else said or f"it ended with status {status}"
                raise DataError(f"a worker has failed: {reason}; correct this and repeat the command")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    process.wait()


def _command(
    part: str, files: Sequence[str], recipe: str, output: Any, tokenizer: str | None, settings: dict[str, Any]
) -> list[str]:
    """The command line of a worker. It ends with this process, also if this one is killed."""
    words = options(part=part, recipe=recipe, output=output, tokenizer=tokenizer, **settings)
    program = [sys.executable, "-m", parent_death.__name__, str(os.getpid()), "glasshouse"]
    return [*program, "data", "prepare", *words, "--", *map(str, files)]


def options(**values: Any) -> list[str]:
    """The command line options of these values, without those that are None."""
    return [word for name, value in values.items() if value is not None for word in (f"--{name}", str(value))]


def data_spec_of(
    files: tuple[str, ...], recipe: str, tokenizer: str | None, settings: dict[str, Any]
) -> tuple[DataSpec, tuple[str, ...]]:
    """The data spec of a recipe with these files and settings, and the special tokens that its task needs."""
    tables = recipes.tables_of(recipe)
    fields = {name: value for name, value in tables.get("data", {}).items() if name not in ("source", "files")}
    fields |= {name: value for name, value in settings.items() if value is not None}
    if tokenizer is not None:
        is_kind = tokenizer in catalogue.names("tokenizer") or not (Path(tokenizer).suffix or Path(tokenizer).exists())
        fields["tokenizer" if is_kind else "tokenizer_file"] = tokenizer
    rules = spec_fields.fields(DataSpec)
    for name, value in fields.items():
        if name not in rules:
            raise GlasshouseError(f"data.{name} is not a field; the fields are: {', '.join(rules)}")
        fields[name] = spec_fields.coerce(rules[name].kind, value, f"data.{name}")
        spec_fields.check(fields[name], rules[name].rule, f"data.{name}")
    task_name = tables.get("task", "next-token")
    if task_name == "next-token":
        return DataSpec(files=files, **fields), ()  # Importing the class of a task would import torch into every worker.
    task = catalogue.find("task", task_name)
    if task.columns:
        raise DataError(
            f"the task {task_name} of --recipe={recipe} reads rows with a {task.columns[0]}, not plain text; "
            "`glasshouse train` prepares these itself"
        )
    return DataSpec(files=files, **fields), task.specials


def _worker(part: str) -> tuple[int, int]:
    """The number of a worker and the number of workers: (2, 8) from 2/8."""
    first, _, last = part.partition("/")
    number, workers = formatting.read_count(first), formatting.read_count(last)
    if number is None or workers is None:
        raise DataError("is not a worker's number and the number of workers; write --part 2/8", "part", part)
    if not 1 <= number <= workers:
        raise DataError(f"is not one of {workers} workers; number them from 1 to {workers}", "part", part)
    return number, workers
