"""Checkpoint files: safetensors plus JSON with checksums, in a folder that is written atomically. Nothing is unpickled.

This module knows named tensors. It knows nothing about models or optimisers.
"""

import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasshouse import formatting
from glasshouse.records import atomic_files, containment, kept_json, machine, plain_files, progress_bar
from glasshouse.records.run_facts import CheckpointStateFile
from glasshouse.specs.errors import RunError

if TYPE_CHECKING:
    import torch

Tensors = dict[str, "torch.Tensor"]
PREFIX = "step-"  # of the name of a checkpoint's folder
# A file of more bytes takes seconds to read, so a bar is shown.
LARGE_BYTES = 2 * 10**9
CHUNK_BYTES = 2**20
# The share of the available memory that a copy may take.
COPY_SHARE = 0.5


@dataclass(frozen=True)
class Checkpoint:
    """The saved state of one step: groups of named tensors (`model`, `optimiser`, ...) and plain values."""

    step: int
    groups: dict[str, Tensors]
    values: dict[str, Any]

    @property
    def weights(self) -> Tensors:
        """The weights to use: their exponential moving average if there is one, else the model's weights."""
        return self.groups.get("average", self.groups["model"])


def name_of(step: int) -> str:
    return f"{PREFIX}{step:08d}"


def folder_of(checkpoints: Path, step: int) -> Path:
    return checkpoints / name_of(step)


def steps(checkpoints: Path) -> list[int]:
    """The steps that have a checkpoint, oldest first. Unfinished checkpoints have other names and are ignored."""
    if not checkpoints.is_dir():
        return []
    names = {path.name for path in checkpoints.iterdir()}
    numbers = (formatting.read_count(name.removeprefix(PREFIX)) for name in names if name.startswith(PREFIX))
    # A folder with the same number in other digits is not ours.
    return sorted(number for number in numbers if number is not None and name_of(number) in names)


def save(checkpoints: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint. If that fails, for example on a full disk, earlier checkpoints stay intact."""
    path = folder_of(checkpoints, checkpoint.step)
    if path.exists():
        return path
    try:
        with atomic_files.folder(path) as temporary:
            checksums = {}
            for group, tensors in checkpoint.groups.items():
                file = temporary / f"{group}.safetensors"
                save_tensors(file, tensors)
                checksums[file.name] = _checksum(file)
            state = {"step": checkpoint.step, "values": checkpoint.values, "checksums": checksums}
            atomic_files.write_json(temporary / "state.json", {**state, "digest": _digest(state)})
    except OSError as error:
        remedy = "earlier ones are intact; free some space and continue with `glasshouse resume`"
        raise RunError(f"cannot save the checkpoint {path}: {error.strerror or error}; {remedy}") from None
    return path


def load(checkpoints: Path, step: int) -> Checkpoint:
    """Read a checkpoint. RunError says what is wrong with a truncated, altered or foreign checkpoint."""
    path = folder_of(checkpoints, step)
    try:
        state = kept_json.read(path / "state.json", CheckpointStateFile, kept_json.MOST_FACTS)
        if state.pop("digest") != _digest(state):
            raise ValueError("state.json was altered: its values differ from the recorded digest")
        groups = {}
        for name, expected in state["checksums"].items():
            file = containment.folder_within(path, [name], path / "state.json")
            if _checksum(file) != expected:
                raise RunError(f"{file} is damaged: its checksum differs from the recorded one")
            groups[name.removesuffix(".safetensors")] = load_tensors(file)
        if state["step"] != step or "model" not in groups:
            raise ValueError(f"state.json is of step {state['step']}, with: {', '.join(groups) or 'nothing'}")
        return Checkpoint(step, groups, state["values"])
    except (OSError, ValueError) as error:
        raise RunError(f"the checkpoint {path} is incomplete or damaged: {error}") from None


def newest(checkpoints: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest intact checkpoint. Each damaged one after it is reported to `warn`."""
    for step in reversed(steps(checkpoints)):
        try:
            return load(checkpoints, step)
        except RunError as error:
            warn(f"{error}; an earlier checkpoint is used instead")
    return None


def best(checkpoints: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The best checkpoint by validation; the newest intact one if the best is damaged or there was no validation."""
    latest = newest(checkpoints, warn)
    if latest and (best_evaluation := latest.values.get("best")):
        try:
            return load(checkpoints, best_evaluation["step"])
        except RunError as error:
            warn(f"{error}; the newest checkpoint is used instead")
    return latest


def delete_step(checkpoints: Path, step: int) -> None:
    """Delete the checkpoint of a step. No half of it stays if the process is killed meanwhile."""
    atomic_files.delete_folder(folder_of(checkpoints, step))


def delete_unfinished(checkpoints: Path) -> None:
    """Delete checkpoints that a killed process was writing or deleting. Call it only while holding the run's lock."""
    if checkpoints.is_dir():
        for path in checkpoints.glob(".*.tmp"):
            atomic_files.delete(path)


def prune(checkpoints: Path, keep: set[int], latest: int = 2) -> None:
    """Delete all checkpoints except the steps in `keep` and the latest ones (two, so that one may be damaged)."""
    for step in steps(checkpoints)[:-latest]:
        if step not in keep:
            delete_step(checkpoints, step)


class CheckpointSaver:
    """Saves a copy of each checkpoint in a thread, one at a time, while training goes on.

    If there is no memory for a copy, training waits instead. An error of the thread is raised by the next call.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[None] | None = None

    def save(self, checkpoints: Path, saved: Checkpoint, keep: set[int]) -> None:
        """Copy a checkpoint and begin to write it; then delete those that are neither in `keep` nor among the latest."""
        self.wait()

        def write(written: Checkpoint) -> None:
            save(checkpoints, written)
            prune(checkpoints, keep)

        size = sum(tensor.nbytes for tensors in saved.groups.values() for tensor in tensors.values())
        if size > machine.available_memory() * COPY_SHARE:
            write(saved)
            return
        # The next step changes the tensors in place.
        groups = {
            group: {name: tensor.detach().to("cpu", copy=True) for name, tensor in tensors.items()}
            for group, tensors in saved.groups.items()
        }
        self._writing = self._executor.submit(write, Checkpoint(saved.step, groups, dict(saved.values)))

    def wait(self) -> None:
        if self._writing is not None:
            error = self._writing.exception()
            self._writing = None
            if error is not None:
                raise error


def save_tensors(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> None:
    """Write named tensors as one safetensors file, with the mode of any other new file."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    # The package replaces the file by one that only its owner can read.
    path.touch()
    mode = path.stat().st_mode
    try:
        save_file({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}, path, metadata)
    except SafetensorError as error:
        raise OSError(f"{path.name}: {error}") from None
    path.chmod(mode)


def load_tensors(path: Path) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise RunError(f"{path} is not a safetensors file: {error}") from None


def _digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _checksum(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    with plain_files.open_to_read(path) as file:
        size = os.fstat(file.fileno()).st_size
        with progress_bar.bar(f"checking {path.name}") if size > LARGE_BYTES else nullcontext(lambda share: None) as show:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
                show(file.tell() / size)
    return digest.hexdigest()
