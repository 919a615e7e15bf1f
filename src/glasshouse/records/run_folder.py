"""The run folder: where things lie in it, how it is made, found, listed and locked. Knows nothing of models."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glasshouse.records import atomic_files, lock
from glasshouse.records.status import Status
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import RunError
from glasshouse.specs.spec import Spec
from glasshouse.version import __version__

# Raised whenever a folder written now could not be read by the release before.
FORMAT = 2


def root() -> Path:
    """The folder that holds runs: `GLASSHOUSE_RUNS`, or `runs` under the current folder."""
    return Path(os.environ.get("GLASSHOUSE_RUNS") or "runs")


@dataclass(frozen=True)
class RunFolder:
    """One run on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def spec_file(self) -> Path:
        return self.path / "spec.toml"

    @property
    def tokenizer_file(self) -> Path:
        return self.path / "tokenizer.json"

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def failure(self) -> Path:
        return self.path / "failure"

    def spec(self) -> Spec:
        return spec_files.load(self.spec_file)

    def tables(self) -> dict[str, Any]:
        """The spec as it is written, unchecked: for lists of many runs, which need no parts."""
        try:
            text = self.spec_file.read_text(encoding="utf-8")
            if tables := spec_files.tables_from_toml(text, str(self.spec_file), unmarked=1):
                return tables
            raise RunError("empty-spec", f"the spec {self.spec_file} is empty")
        except (OSError, UnicodeDecodeError) as error:
            raise RunError("not-a-run", f"cannot read the spec {self.spec_file}: {error}") from None

    def facts(self) -> dict[str, Any]:
        """What is known of the run besides its spec: format, machine, prediction, outcome (`run.json`)."""
        try:
            facts = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            if not isinstance(facts, dict):
                raise ValueError("it holds no facts")
            return facts
        except (OSError, ValueError) as error:
            raise RunError("not-a-run", f"{self.path} is not a run folder: its run.json cannot be read ({error})") from None

    def record(self, **facts: Any) -> None:
        """Add to what is known of the run."""
        atomic_files.write_json(self.path / "run.json", {**self.facts(), **facts})

    def recorded_status(self) -> Status:
        """The status that `run.json` holds."""
        return Status.read(self.facts().get("status"))

    def status(self) -> Status:
        """The recorded status; INTERRUPTED where the run should be training and no process trains it."""
        recorded = self.recorded_status()
        if recorded not in (Status.NEW, Status.TRAINING):
            return recorded
        return Status.TRAINING if lock.held(self.path) else Status.INTERRUPTED

    def family(self) -> list["RunFolder"]:
        """The runs that were asked for with this one, itself among them, but for those that are there no more."""
        asked = [RunFolder(self.path.parent / name) for name in self.facts().get("family", [self.name])]
        return [run for run in asked if run.spec_file.exists()]

    def discard_unbegun(self) -> None:
        """Delete the folder of a run that has come to nothing: it was refused before its first step."""
        if self.recorded_status() == Status.NEW:
            shutil.rmtree(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for this process."""
        with lock.holding(self.path, "wait for it or stop it, or train under another --name"):
            yield


def make(path: Path, spec: Spec, recipe: str, **facts: Any) -> RunFolder:
    """A new run folder at a path; FileExistsError where something is there already."""
    known = {"format": FORMAT, "glasshouse": __version__, "recipe": recipe, "created": time.time(), "status": Status.NEW}
    with atomic_files.folder(path) as temporary:
        atomic_files.write_text(temporary / "spec.toml", spec_files.to_toml(spec))
        atomic_files.write_json(temporary / "run.json", {**known, **facts})
    return RunFolder(path)


def create(spec: Spec, name: str | None, stem: str) -> RunFolder:
    """A new run folder with its spec, under `name` or the first free `stem`, `stem-2`, ..."""
    try:
        root().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(
            "cannot-write", f"cannot make the runs folder {root()}: {error.strerror}; set GLASSHOUSE_RUNS to another"
        ) from None
    attempt = 1
    while True:
        chosen = name or (stem if attempt == 1 else f"{stem}-{attempt}")
        path = root() / checked_name(chosen)
        if not path.exists():
            try:
                return make(path, spec, stem)
            except FileExistsError:
                pass
            except OSError as error:
                raise RunError("cannot-write", f"cannot create the run folder {path}: {error}") from None
        if name:
            raise RunError(
                "run-exists",
                f"there is a run {name!r} already in {root()}; choose another --name, "
                f"continue it with `glasshouse resume {name}`, or delete {path}",
            )
        attempt += 1


def create_family(specs: Mapping[str, Spec], name: str | None, stem: str) -> list[RunFolder]:
    """New run folders NAME-KEY for each key: NAME is `name`, or the first of `stem`, `stem-2`, ... that is free for all."""
    attempt = 1
    while True:
        chosen = name or (stem if attempt == 1 else f"{stem}-{attempt}")
        taken = [key for key in specs if (root() / checked_name(f"{chosen}-{key}")).exists()]
        if not taken:
            names = [f"{chosen}-{key}" for key in specs]
            made = [create(spec, each, stem) for each, spec in zip(names, specs.values(), strict=True)]
            for run in made:
                run.record(family=names)
            return made
        if name:
            check_free(f"{name}-{taken[0]}")
        attempt += 1


def check_free(name: str) -> None:
    """Raise where a new run cannot have this name, before any work is done for it."""
    if (path := root() / checked_name(name)).exists():
        raise RunError("run-exists", f"there is a run {name!r} already in {root()}; choose another --name, or delete {path}")


def find(name: str | os.PathLike[str]) -> RunFolder:
    """The run of that name under the root, or at that path."""
    given = Path(name)
    candidates = [root() / given] if len(given.parts) == 1 else []
    for path in [*candidates, given]:
        if (path / "spec.toml").is_file():
            run = RunFolder(path)
            _check_format(run)
            return run
    if given.is_dir():
        raise RunError("not-a-run", f"{given} is not a run folder: it has no spec.toml")
    known = [run.name for run in every()]
    listing = f"the runs in {root()} are: {', '.join(known)}" if known else f"there are no runs in {root()} yet"
    raise RunError("unknown-run", f"there is no run {str(name)!r}{catalogue.nearest(str(name), known)} ({listing})")


def every() -> list[RunFolder]:
    """All runs under the root, oldest first."""
    if not root().is_dir():
        return []
    found = [RunFolder(path) for path in root().iterdir() if (path / "spec.toml").is_file() and path.name[0] != "."]
    return sorted(found, key=lambda run: (run.spec_file.stat().st_mtime, run.name))


def _check_format(run: RunFolder) -> None:
    written = run.facts().get("format", 0)
    if not isinstance(written, int) or written > FORMAT:
        raise RunError(
            "newer-format",
            f"{run.path} was written by a newer Glasshouse (folder format {written}; this one reads up to {FORMAT}); "
            "upgrade with: pip install --upgrade glasshouse",
        )


def checked_name(name: str, what: str = "run") -> str:
    """The name itself, where a folder can have it."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise RunError(
            "bad-name",
            f"{name!r} cannot be a {what}'s name; use letters, digits, '.', '_' and '-', beginning with a letter or digit",
        )
    return name
