"""The run folder: the paths of its files, and how it is created, found, listed and locked. Knows nothing about models."""

import os
import re
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from glasshouse import formatting
from glasshouse.records import atomic_files, containment, kept_json, lock, plain_files, progress_bar, user_paths
from glasshouse.records.kept_schema import fitting_entries
from glasshouse.records.run_facts import RunFacts
from glasshouse.records.status import Status
from glasshouse.specs import catalogue, spec_files, toml_text
from glasshouse.specs.errors import RunError, UnknownRun
from glasshouse.specs.spec import Spec
from glasshouse.version import __version__

# Incremented whenever the previous release could not read a folder written by this one.
FORMAT = 3
# The files that make a folder a study, which has its runs this many folders down, or fewer: ARM/tuning/VALUE/seed-N.
STUDY_FILES = ("study.json", "scaling.json")
DEEPEST_RUN = 4


def root() -> Path:
    """The folder that holds runs: `GLASSHOUSE_RUNS`, or `runs` under the current folder."""
    return containment.folder_setting("GLASSHOUSE_RUNS", "runs")


def study_around(run: Path) -> Path | None:
    """The folder of the study in which the folder of a run lies; None outside a study."""
    folders = run.absolute().parents[:DEEPEST_RUN]
    return next((folder for folder in folders if any((folder / name).is_file() for name in STUDY_FILES)), None)


class _Inside:
    """The path of a file or folder within that of a run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, run: "RunFolder", kind: object) -> Path:
        return run.path / self.name


@dataclass(frozen=True)
class RunFolder:
    """One run on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    spec_file = _Inside("spec.toml")
    tokenizer_file = _Inside("tokenizer.json")
    metrics_file = _Inside("metrics.jsonl")
    report_file = _Inside("report.html")
    baselines_file = _Inside("baselines.json")
    confusion_file = _Inside("confusion.json")
    checkpoints = _Inside("checkpoints")
    failure = _Inside("failure")
    # It asks whoever trains the run, also on another machine that shares the folder, to save and stop.
    stop_request = _Inside("stop")

    def spec(self) -> Spec:
        return spec_files.load(self.spec_file)

    def tables(self) -> dict[str, Any]:
        """The tables of the spec file, unchecked. Lists of many runs use them, because no part has to be imported."""
        try:
            if tables := spec_files.tables_from_toml(toml_text.read_text(self.spec_file), str(self.spec_file)):
                return tables
            raise RunError(f"the spec {self.spec_file} is empty; restore it, or delete the run folder")
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise RunError(f"{self.path} is not a run folder: its spec.toml cannot be read ({error})") from None

    def facts(self) -> dict[str, Any]:
        """The content of `run.json`: format, status, machine, cost plan, outcome. Damaged entries are left out."""
        return fitting_entries(self.all_facts(), RunFacts)[0]

    def sound_facts(self) -> tuple[dict[str, Any], list[str]]:
        """`facts`, and what is wrong with the entries that it leaves out and with the metric log; with remedies."""
        facts, faults = fitting_entries(self.all_facts(), RunFacts)
        damage = [f"{self.path / 'run.json'}: {fault}; it is left out; correct or delete that entry" for fault in faults]
        try:
            plain_files.open_to_read(self.metrics_file).close()
        except FileNotFoundError:
            pass
        except OSError as error:
            damage.append(f"{self.metrics_file}: it cannot be read ({error.strerror}); put the log back, or delete it")
        return facts, damage

    def final_metrics(self) -> dict[str, dict[str, float]]:
        """The metrics of the final evaluation, for each held-out split; empty before it."""
        return held_out_metrics(self.facts())

    def all_facts(self) -> dict[str, Any]:
        """The content of `run.json` as it is, with damaged entries. Nothing but a rewrite of the file should need it."""
        facts: dict[str, Any] = kept_json.required(
            self.path / "run.json", dict[str, Any], "restore it, or delete the folder", most_bytes=kept_json.MOST_FACTS
        )
        return facts

    def record(self, **facts: Any) -> None:
        atomic_files.write_json(self.path / "run.json", {**self.all_facts(), **facts})

    def recorded_status(self) -> Status:
        return Status.read(self.facts().get("status"))

    def status(self) -> Status:
        """The recorded status, or INTERRUPTED if `run.json` says NEW or TRAINING but no process holds the run's lock."""
        recorded = self.recorded_status()
        if recorded not in (Status.NEW, Status.TRAINING):
            return recorded
        return Status.TRAINING if lock.is_held(self.path) else Status.INTERRUPTED

    def siblings(self) -> list["RunFolder"]:
        """The runs that were created together with this run, including itself and excluding deleted ones.

        They name each other: what one altered folder says makes no sibling of a run that says nothing of it.
        """
        names, where = self._family(), self.path / "run.json"
        if self.name not in names:  # a copy under another name
            return [self]
        runs = [RunFolder(containment.folder_within(self.path.parent, [name], where)) for name in names]
        return [run for run in runs if run.spec_file.exists() and (run.name == self.name or self.name in run._family())]

    def _family(self) -> list[str]:
        names = self.facts().get("family")
        return names if isinstance(names, list) else []

    def ask_to_stop(self) -> None:
        """Ask whoever trains the run to save and stop."""
        plain_files.open_to_write(self.stop_request).close()

    def delete_if_new(self) -> None:
        """Delete the folder of a run that never took a step, such as a run that was refused."""
        if self.recorded_status() == Status.NEW:
            shutil.rmtree(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run's lock in this process. Whoever writes into the run holds it."""
        containment.refuse_links(self.path)
        if self.checkpoints.exists() and not self.checkpoints.is_dir():
            raise RunError(f"{self.checkpoints} is a file and not a folder; move it, or delete it")
        with lock.hold(self.path, "wait for it or stop it, or train under another --name"):
            yield


def held_out_metrics(facts: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The metrics of the final evaluation by split, from the content of `run.json`."""
    outcome = facts.get("outcome", {}).items()
    return {split: found for split, found in outcome if split.startswith(("validation", "test")) and isinstance(found, dict)}


def create_at(path: Path, spec: Spec, recipe: str, **facts: Any) -> RunFolder:
    """Create a run folder at a path. Raises FileExistsError if the path exists."""
    initial = {"format": FORMAT, "glasshouse": __version__, "recipe": recipe, "created": time.time(), "status": Status.NEW}
    with atomic_files.folder(path) as temporary:
        atomic_files.write_text(temporary / "spec.toml", spec_files.to_toml(spec))
        atomic_files.write_json(temporary / "run.json", {**initial, **facts})
    return RunFolder(path)


def numbered_names(stem: str) -> Iterator[str]:
    """`stem`, `stem-2`, `stem-3`, ..."""
    yield stem
    yield from (f"{stem}-{number}" for number in count(2))


def create(spec: Spec, name: str | None, stem: str, **facts: Any) -> RunFolder:
    """Create a run folder with its spec, under `name`, or under the first free name of `stem`, `stem-2`, ..."""
    try:
        root().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot create {root()}: {error.strerror}; set GLASSHOUSE_RUNS to another folder") from None
    for chosen in numbered_names(stem) if name is None else (name,):
        path = root() / checked_name(chosen)
        if path.exists():
            continue
        try:
            run = create_at(path, spec, stem, **facts)
        except FileExistsError:  # another process was sooner
            continue
        except OSError as error:
            raise RunError(f"cannot create {path}: {error}; set GLASSHOUSE_RUNS to a folder with space") from None
        if name is None and chosen != stem:
            progress_bar.say(f"there is a run {stem} already: this one is {chosen} (--name gives it another name)")
        return run
    raise _already_exists(chosen)


def free_name(stem: str) -> str:
    return next(name for name in numbered_names(stem) if not (root() / name).exists())


def create_siblings(specs: Sequence[Spec], name: str | None, stem: str, **facts: Any) -> list[RunFolder]:
    """Create a run folder NAME-seed-N for each spec, by its seed. Each folder records the names of all.

    NAME is `name`, or the first of `stem`, `stem-2`, ... for which all folder names are free.
    """
    for chosen in numbered_names(stem) if name is None else (name,):
        names = [f"{chosen}-seed-{spec.training.seed}" for spec in specs]
        taken = [own for own in names if (root() / checked_name(own)).exists()]
        if not taken:
            return [create(spec, own, stem, **facts, family=names) for own, spec in zip(names, specs, strict=True)]
    raise _already_exists(taken[0])


def create_missing_siblings(run: RunFolder) -> None:
    """Create the siblings that a killed process did not come to. Once one has trained, a missing one was deleted.

    Only runs NAME-seed-N have siblings, which are named NAME-seed-M.
    """
    facts = run.facts()
    family, suffix = facts.get("family"), f"-seed-{run.spec().training.seed}"
    if not isinstance(family, list) or run.name not in family or not run.name.endswith(suffix):
        return
    if any("plan" in sibling.facts() for sibling in run.siblings()):
        return
    prefix = run.name.removesuffix(suffix) + "-seed-"
    kept = {name: facts[name] for name in ("asked", "family") if name in facts}
    for name in family:
        seed = formatting.read_count(name.removeprefix(prefix)) if name.startswith(prefix) else None
        path = run.path.with_name(checked_name(name))
        if seed is not None and not path.exists():
            spec = replace(run.spec(), training=replace(run.spec().training, seed=seed))
            create_at(path, spec, str(facts.get("recipe", "")), **kept)


def check_free(name: str) -> None:
    """Refuse a name that a new run cannot have. Call it before any work starts."""
    if (root() / checked_name(name)).exists():
        raise _already_exists(name)


def _already_exists(name: str) -> RunError:
    remedy = f"choose another --name, continue the run with `glasshouse resume {name}`, or delete {root() / name}"
    return RunError(f"the run {name!r} already exists in {root()}; {remedy}")


def find(name: str | os.PathLike[str]) -> RunFolder:
    """The run with this name in the runs folder, or at this path."""
    given_path = user_paths.checked(name, "a run")
    candidates = [root() / given_path] if len(given_path.parts) == 1 else []
    for path in [*candidates, given_path]:
        if (path / "spec.toml").exists():
            run = RunFolder(path)
            kept_json.refuse_newer(run.all_facts(), FORMAT, path)
            return run
    if given_path.is_dir():
        raise RunError(f"{given_path} is not a run folder: it has no spec.toml")
    raise unknown(str(name))


def unknown(name: str) -> UnknownRun:
    """The error for a run that does not exist, with the nearest names."""
    known = [run.name for run in all_runs()]
    remedy = "list the runs with: glasshouse runs" if known else "train one with: glasshouse demo"
    return UnknownRun(f"there is no run {name!r} in {root()}{catalogue.did_you_mean(name, known, most=3)}; {remedy}")


def all_runs() -> list[RunFolder]:
    """All runs in the runs folder, oldest first."""
    if not root().is_dir():
        return []
    runs = [RunFolder(path) for path in root().iterdir() if (path / "spec.toml").exists() and path.name[0] != "."]
    return sorted(runs, key=lambda run: (run.spec_file.stat().st_mtime, run.name))


def checked_name(name: str, what: str = "run") -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        rule = "use letters, digits, '.', '_' and '-', and begin with a letter or digit"
        raise RunError(f"{name!r} is not a valid name for a {what}; {rule}")
    return name
