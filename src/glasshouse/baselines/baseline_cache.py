"""Trains the baselines of a task once for each data set, and keeps them in the cache. Knows nothing of runs."""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from glasshouse.baselines.baseline import Baseline, BaselineData
from glasshouse.baselines.task_baselines import TASKS
from glasshouse.data import prepared_folder
from glasshouse.data.documents import Document
from glasshouse.data.prepared_data import PreparedData, find_source
from glasshouse.data.sources.remote_files import cache_folder
from glasshouse.records import atomic_files, kept_json
from glasshouse.specs.spec import DataSpec
from glasshouse.tasks.base import Task

# The version of the cache. It is raised when the same data would give other scores, other titles or another file layout.
FORMAT = 2
KEPT_FIELDS = ("name", "title", "metrics", "validation", "settings", "note")
# Tokens that are decoded at a time, if the text of a prepared folder is needed.
DECODED_TOKENS = 100_000


def held_out_split(prepared: PreparedData) -> str:
    """The split that baselines and the run are compared on: test, else validation; empty if neither has data."""
    return next((split for split in ("test", "validation") if prepared.splits[split].tokens_count > 1), "")


def load_or_train(
    data: DataSpec,
    prepared: PreparedData,
    task: Task,
    task_name: str,
    progress: Callable[[float], None] = lambda share: None,
) -> list[Baseline]:
    """The baselines of a task on prepared data. `task_name` is a key of `TASKS`."""
    folder = _folder(prepared, task_name)
    if folder.exists():
        # A damaged entry is computed again, and stays as it is.
        with suppress(OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, zlib.error, NotImplementedError):
            return _read(folder)
    held_out = held_out_split(prepared)
    choice = "validation" if held_out == "test" and prepared.splits["validation"].tokens_count > 1 else ""
    baselines = []
    for baseline in TASKS[task_name].train(BaselineData(prepared, _documents(data, prepared, task), held_out, choice)):
        baselines.append(baseline)
        progress(len(baselines) / TASKS[task_name].count)
    # Another process may have written the same entry, and without a cache they are trained again.
    with suppress(OSError), atomic_files.folder(folder) as temporary:
        _write(temporary, baselines)
    return baselines


def _folder(prepared: PreparedData, task_name: str) -> Path:
    # Only language models depend on how the tokenizer splits the text.
    tokens = prepared.tokenizer.digest() if task_name == "next-token" else ""
    key = json.dumps([FORMAT, prepared.fingerprint, task_name, tokens])
    return cache_folder() / "baselines" / hashlib.blake2b(key.encode(), digest_size=12).hexdigest()


def _documents(data: DataSpec, prepared: PreparedData, task: Task) -> Callable[[str], Iterator[Document]]:
    return partial(_decoded, prepared) if prepared_folder.named(data) else find_source(data, task.columns).documents


def _decoded(prepared: PreparedData, split: str) -> Iterator[Document]:
    """The text of a split from its tokens, which is all that a prepared folder has."""
    shard = prepared.splits[split]
    for begin in range(0, shard.tokens_count, DECODED_TOKENS):
        tokens = np.asarray(shard.tokens[begin : begin + DECODED_TOKENS])
        words = tokens[~np.isin(tokens, list(shard.separators))].tolist()
        yield Document(prepared.tokenizer.decode(words), continues=begin > 0)


def _write(folder: Path, baselines: list[Baseline]) -> None:
    arrays: dict[str, np.ndarray] = {}
    for number, baseline in enumerate(baselines):
        arrays |= {f"{number}.values.{name}": values for name, values in baseline.values.items()}
        if baseline.places is not None:
            arrays[f"{number}.places"] = baseline.places
    entries = [{name: getattr(baseline, name) for name in KEPT_FIELDS} for baseline in baselines]
    atomic_files.write_json(folder / "baselines.json", entries)
    with open(folder / "values.npz", "wb") as output:
        np.savez_compressed(output, allow_pickle=False, **arrays)


def _read(folder: Path) -> list[Baseline]:
    entries = kept_json.read(folder / "baselines.json")
    with np.load(folder / "values.npz", allow_pickle=False) as arrays:
        stored = {name: np.asarray(arrays[name]) for name in arrays.files}
    baselines = []
    for number, entry in enumerate(entries):
        start = f"{number}.values."
        values = {name.removeprefix(start): array for name, array in stored.items() if name.startswith(start)}
        baselines.append(Baseline(**entry, values=values, places=stored.get(f"{number}.places")))
    return baselines
