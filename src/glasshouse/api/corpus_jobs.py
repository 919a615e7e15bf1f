"""A public function that has a large text tokenised by the jobs of a Slurm cluster."""

import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse import tokenizers
from glasshouse.api import corpora
from glasshouse.data import corpus_shards, prepared_data, text_files
from glasshouse.data.user_files import text
from glasshouse.launching import batch_script, job_folder, submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import Slurm
from glasshouse.launching.submission import Submission
from glasshouse.records import run_folder, user_paths
from glasshouse.specs import catalogue
from glasshouse.specs.errors import LaunchError
from glasshouse.studies.places import MOST_TASKS


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
    """Submit `prepare_data` to Slurm: an array of `jobs` workers, and a job that joins their parts when all have succeeded.

    The same call again submits only what is left: fewer workers, the last job alone, or nothing. `settings` are fields of
    the data spec, as for `prepare_data`. The jobs ask for no GPU. In a dry run the scripts are made, and nothing is created
    or submitted.
    """
    jobs, dry_run = on.jobs, on.dry_run
    data, specials = corpora.data_spec_of(tuple(files), recipe, tokenizer, settings)
    paths = [user_paths.expand(file).absolute() for file in files]
    for path in paths:
        text_files.check_beginning(path)
    if data.tokenizer_file:
        tokenizers.load(data.tokenizer_file)
    catalogue.check("tokenizer", data.tokenizer, "data.tokenizer")
    folder = None if output is None else user_paths.expand(output).absolute()
    if folder:
        corpus_shards.refuse_other_folder(folder)
    _check_count(jobs, paths)
    name = run_folder.checked_name(_name_of(folder or paths[0]) if name is None else name, "job")
    checked = replace(on, gpus_per_node=0).settings().for_single_process()
    submission.check(checked, on.dry_run)

    submitted = Submission()
    workers = jobs or min(checked.jobs or 1, text.most_parts(paths), MOST_TASKS)
    if not dry_run and (corpus := prepared_data.known_corpus_shards(data, specials, folder)):
        if corpus.finished:
            return submitted
        workers = min(workers, len(corpus.missing())) if corpus.planned else workers
    words = corpora.options(recipe=recipe, output=folder, tokenizer=tokenizer, **settings)
    command, work = ["data", "prepare", *words, *map(str, paths)], str(folder or "")
    array = 0
    if workers:
        parts = [f"{number}/{workers}" for number in range(1, workers + 1)]
        option = batch_script.part_option(workers)
        array = submitted.add(JobRequest(name, job_folder.PARTS, work, command, parts, option), checked, dry_run)
    submitted.add(JobRequest(name, job_folder.COMMAND, work, command), checked, dry_run, after=array)
    return submitted


def _check_count(jobs: int | None, files: Sequence[Path]) -> None:
    """Refuse more workers than an array may have, or than the text has parts."""
    if jobs is None:
        return
    most = min(text.most_parts(files), MOST_TASKS)
    if not 1 <= jobs <= most:
        raise LaunchError(
            f"is not between 1 and {most}: the text is encoded in parts of {text.PART_BYTES >> 20} MB, by at "
            f"most one job for each and {MOST_TASKS} jobs in all; choose a number from 1 to {most}",
            "jobs",
            jobs,
        )


def _name_of(path: Path) -> str:
    """The name of the jobs: that of the folder, or of the first file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.name.partition(".")[0] or path.name).strip("-._")[:80] or "text"
