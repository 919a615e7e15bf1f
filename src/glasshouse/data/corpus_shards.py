"""The shards of a large text, made part by part: by one process or by many, on one machine or on several.

The work has two steps. `plan` cuts the text into parts and writes `plan.json`. `finish` encodes parts that nobody else is
encoding, each into a folder of its own that appears only when it is complete. When all are there, it joins them into the
shards. Every process does the same, and the result does not depend on who encoded which part.

A killed process loses the part that it was encoding; everything else stays. Locks keep two processes from the same part.
Where the file system has no locks, a part may be encoded twice, with the same result.

A folder that `glasshouse data prepare --output FOLDER` wrote can be the data of a run: `data.files=FOLDER`. The text itself
is not needed. The spec must have the settings that the folder was prepared with, so that it still says what made the run.

Memory: a block of text and its tokens, the tokenizer's table of known pieces, and the list of parts.
"""

import hashlib
import json
import os
import random
import shutil
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from glasshouse import tokenizers
from glasshouse.data import file_summaries, shards
from glasshouse.data.documents import SPLITS
from glasshouse.data.sources.remote_files import writing
from glasshouse.data.user_files import text
from glasshouse.data.user_files.text import ByteRange, TextPart, UserText
from glasshouse.records import atomic_files, kept_json, lock, user_paths
from glasshouse.records.kept_schema import Count, as_type
from glasshouse.specs.errors import DataError
from glasshouse.specs.spec import DataSpec
from glasshouse.tokenizers import Tokenizer
from glasshouse.tokenizers.base import Progress

MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.json"
FORMAT = 1
PART_PATTERN = "part-*"
COPY_BYTES = 1 << 22
TEXT_SETTINGS = ("field", "validation", "test")


class CorpusManifest(TypedDict):
    """The manifest of prepared text, as far as readers need it."""

    format: Count
    fingerprint: str
    settings: dict[str, Any]
    splits: dict[str, dict[str, Any]]


class CorpusShards:
    """The shards of the user's own text in `folder`, and the unfinished parts in a folder beside it.

    A `cached` folder is named after its content; one without a manifest was written in one go and is complete.
    """

    def __init__(
        self, source: UserText, tokenizer: Tokenizer, folder: Path, settings: dict[str, Any], cached: bool = True
    ) -> None:
        self.source, self.tokenizer, self.folder = source, tokenizer, folder
        self.settings, self.cached = settings, cached
        self.work_folder = folder.with_name(f"{folder.name}.parts")
        self._states = [file_summaries.file_state(file.path) for file in source.files]
        self.fingerprint = source.fingerprint()

    @property
    def finished(self) -> bool:
        """Whether the shards are complete. Shards of another text or tokenizer are refused."""
        if (self.folder / MANIFEST).is_file():
            self._refuse_other(read_manifest(self.folder), self.folder)
            return True
        return self.cached and self.folder.is_dir()

    def plan(self, progress: Progress = lambda what, share: None) -> None:
        """Cut the text into parts, unless this or another process has done it."""
        if self.finished:
            return
        with self._writing():
            self.work_folder.mkdir(parents=True, exist_ok=True)
            with lock.wait_for(self.work_folder / ".lock"):
                if not self._plan_file.is_file():
                    progress("dividing text", 0.0)
                    atomic_files.write_json(self._plan_file, self._new_plan())
                self._refuse_other(self._plan, self.work_folder)

    def missing(self) -> list[int]:
        """The parts that are not encoded yet."""
        with suppress(FileNotFoundError):
            done = {path.name for path in self.work_folder.iterdir()}
            return [index for index in range(len(self.parts)) if self._part_folder(index).name not in done]
        return []

    @cached_property
    def parts(self) -> list[TextPart]:
        return [tuple(ByteRange(**piece) for piece in part["pieces"]) for part in self._plan["parts"]]

    def share_done(self) -> float:
        """The share of the text that is encoded."""
        sizes = [sum(piece.end - piece.begin for piece in part) for part in self.parts]
        return 1 - sum(sizes[index] for index in self.missing()) / max(sum(sizes), 1)

    def finish(self, progress: Progress = lambda what, share: None) -> None:
        """Encode the parts that nobody is encoding, wait for the others, and join all of them."""
        if self.finished:
            return
        with self._writing():
            try:
                # In a random order, so that processes seldom meet where the file system has no locks.
                for index in random.Random().sample(missing := self.missing(), len(missing)):
                    with lock.attempt(self._lock_file(index)) as held:
                        if held:
                            self._encode(index)
                    progress("encoding text", self.share_done())
                for index in self.missing():
                    with lock.wait_for(self._lock_file(index)):
                        self._encode(index)
                progress("joining parts", 1.0)
                with lock.wait_for(self.work_folder / ".lock"):
                    if not self.finished:
                        self._join()
            except FileNotFoundError:
                if not self.finished:  # Otherwise another process has joined the parts and removed them.
                    raise
            shutil.rmtree(self.work_folder, ignore_errors=True)

    def discard_damaged(self) -> list[str]:
        """Remove the shards and plan them anew if the files of a split, which is returned, have another checksum."""
        if not (self.folder / MANIFEST).is_file():
            return []
        facts = read_manifest(self.folder)["splits"]
        damaged = [split for split in SPLITS if _checksum(self.folder, split) != facts.get(split, {}).get("checksum")]
        if damaged:
            with self._writing():
                shutil.rmtree(self.folder)
            self.plan()
        return damaged

    @property
    def _plan_file(self) -> Path:
        return self.work_folder / "plan.json"

    @cached_property
    def _plan(self) -> dict[str, Any]:
        plan: dict[str, Any] = json.loads(self._plan_file.read_text())
        return plan

    def _new_plan(self) -> dict[str, Any]:
        source = self.source
        return {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "tokenizer": self.tokenizer.digest(),
            "settings": self.settings,
            "files": [{"path": str(file.path), **asdict(source.summaries[file.path])} for file in source.files],
            "digest_ranges": source.digest_ranges if source.divided_json else [],
            "parts": [{"pieces": [asdict(piece) for piece in part]} for part in text.cut(source)],
        }

    def _refuse_other(self, plan: dict[str, Any], folder: Path) -> None:
        """Refuse a folder with the shards of another text or of another tokenizer."""
        if plan.get("fingerprint") != self.fingerprint:
            what = "another text, or other shares for validation and test"
        elif plan.get("tokenizer") != self.tokenizer.digest():
            what = "the same text with another tokenizer"
        else:
            return
        raise DataError(f"{folder} was prepared from {what}; choose another folder, or remove it")

    def _part_folder(self, index: int) -> Path:
        return self.work_folder / PART_PATTERN.replace("*", f"{index:06}")

    def _lock_file(self, index: int) -> Path:
        return self.work_folder / f".{self._part_folder(index).name}.lock"

    def _encode(self, index: int) -> None:
        """Encode a part, unless somebody has done it."""
        if self._part_folder(index).exists():
            return
        with suppress(FileExistsError), atomic_files.folder(self._part_folder(index)) as temporary, ExitStack() as stack:
            writers: dict[str, shards.ShardWriter] = {}
            try:
                for split, starts, block in text.read_blocks(self.source, self.parts[index], self._plan["digest_ranges"]):
                    if split not in writers:
                        writers[split] = stack.enter_context(closing(shards.ShardWriter(temporary, split, self.tokenizer)))
                    writers[split].add(block, starts)
            finally:
                for file, state in zip(self.source.files, self._states, strict=True):
                    if not file.path.is_file() or file_summaries.file_state(file.path) != state:
                        raise DataError(f"{file.path} has changed while it was being encoded; repeat when it is complete")
            facts = {split: writer.finish_part() for split, writer in writers.items()}
            atomic_files.write_json(temporary / "part.json", facts)

    def _join(self) -> None:
        facts = [json.loads((self._part_folder(index) / "part.json").read_text()) for index in range(len(self.parts))]
        with atomic_files.folder(self.folder) as temporary:
            splits = {split: self._join_split(temporary, split, facts) for split in SPLITS}
            self.tokenizer.save(temporary / TOKENIZER)
            atomic_files.write_json(temporary / MANIFEST, {**self._plan, "splits": splits})

    def _join_split(self, folder: Path, split: str, facts: list[dict[str, Any]]) -> dict[str, Any]:
        """Write the shard of a split. Returns its entry in the manifest."""
        counts: Counter[str] = Counter(dict.fromkeys(("tokens", "documents", "bytes", "words", "unknown"), 0))
        with open(folder / f"{split}.tokens", "wb") as tokens, open(folder / f"{split}.starts", "wb") as starts:
            for index, fact in enumerate(facts):
                if split in fact:
                    part = self._part_folder(index)
                    with open(part / f"{split}.tokens", "rb") as file:
                        shutil.copyfileobj(file, tokens, COPY_BYTES)
                    starts.write((np.fromfile(part / f"{split}.starts", "<i8") + counts["tokens"]).tobytes())
                    counts.update({name: fact[split][name] for name in counts})
        shard = shards.complete(folder, split, self.tokenizer, counts)
        return {"documents": shard.documents, "tokens": shard.tokens_count, "checksum": _checksum(folder, split)}

    def _writing(self) -> AbstractContextManager[None]:
        return writing("token shards", self.folder, self.cached)


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else than prepared text, or that cannot be created."""
    if not (folder / MANIFEST).is_file() and (folder.is_file() or (folder.is_dir() and any(folder.iterdir()))):
        raise DataError(f"{folder} exists and does not hold prepared text; choose another folder, or remove it")
    exists = next(parent for parent in folder.absolute().parents if parent.exists())
    if not exists.is_dir() or not os.access(exists, os.W_OK | os.X_OK):
        raise DataError(f"{folder} cannot be created, since nothing can be written in {exists}; choose another folder")


def _checksum(folder: Path, split: str) -> str:
    """A digest of the tokens and the starts of a shard; empty if a file is missing."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for suffix in ("tokens", "starts"):
            with open(folder / f"{split}.{suffix}", "rb") as file:
                while block := file.read(COPY_BYTES):
                    digest.update(block)
    except FileNotFoundError:
        return ""
    return digest.hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = kept_json.read(folder / MANIFEST, dict[str, Any])
        if isinstance(format := manifest.get("format"), int) and format > FORMAT:
            raise DataError(f"{folder} has format {format}, and this version reads up to {FORMAT}; install a newer version")
        as_type(manifest, CorpusManifest)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder / MANIFEST} cannot be read ({error}); remove {folder} and prepare the text again"
        ) from None
    return manifest


def short_digest(fingerprint: str) -> str:
    """What a run remembers of its data."""
    return hashlib.blake2b(fingerprint.encode(), digest_size=16).hexdigest()


def settings_of(data: DataSpec, specials: tuple[str, ...]) -> dict[str, Any]:
    """The settings that decide what the tokens are. A tokenizer from a file has no other settings."""
    settings = {name: getattr(data, name) for name in TEXT_SETTINGS}
    if not data.tokenizer_file:
        settings |= {"tokenizer": data.tokenizer, "vocabulary": data.vocabulary, "pattern": data.pattern}
        settings["specials"] = list(specials)
    return settings


def folder_of(data: DataSpec) -> Path | None:
    """The folder that `data.files` names, if it is one of prepared text."""
    if len(data.files) != 1:
        return None
    folder = user_paths.expand(data.files[0])
    return folder if (folder / MANIFEST).is_file() else None


def check_spec(
    folder: Path, data: DataSpec, tokenizer: Tokenizer | None, columns: tuple[str, ...], specials: tuple[str, ...]
) -> tuple[Tokenizer, str]:
    """The tokenizer of the folder and the fingerprint of its text. Refuses a spec that the folder does not fit."""
    if columns:
        raise DataError(f"holds prepared text, which has no {columns[0]}; use the original files", "data.files", folder)
    manifest = read_manifest(folder)
    wanted, prepared = settings_of(data, specials), manifest["settings"]
    own = tokenizers.load(folder / TOKENIZER)
    if tokenizer is None and data.tokenizer_file:
        tokenizer = tokenizers.load(data.tokenizer_file)
    use_own = f"use data.tokenizer_file={folder / TOKENIZER}"
    if tokenizer is not None:
        if tokenizer.digest() != own.digest():
            raise DataError(f"{folder} was prepared with another tokenizer; {use_own}, or prepare the text again")
        wanted = {name: wanted[name] for name in TEXT_SETTINGS}
    elif "tokenizer" not in prepared:
        raise DataError(f"{folder} was prepared with the tokenizer of a file; {use_own}")
    if "specials" in wanted and wanted["specials"] != prepared["specials"]:
        raise DataError(
            f"the special tokens of this task are {wanted['specials']}, and {folder} was prepared with "
            f"{prepared['specials']}; prepare the text for this task: glasshouse data prepare --recipe RECIPE"
        )
    differing = [name for name in wanted if name != "specials" and wanted[name] != prepared[name]]
    if differing:
        remedy = " ".join(f"data.{name}={prepared[name]}" for name in differing)
        found = ", ".join(f"data.{name}={wanted[name]}" for name in differing)
        raise DataError(f"{folder} was not prepared with {found}; set {remedy}, or prepare the text again")
    return own, short_digest(manifest["fingerprint"])
