"""The study folder: a question, its arms, and a folder of runs for each. How it is written, read, found and locked.

`study.json` holds all that is decided before the runs; every run lies in `ARM/seed-N`, like any other run. Nothing else
holds state, and nothing here trains.
"""

import dataclasses
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glasshouse.data.prepared_data import Leak
from glasshouse.metrics.verdicts import VerdictRule
from glasshouse.records import atomic_files, lock, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.specs import catalogue, spec_files
from glasshouse.specs.errors import GlasshouseError, RunError
from glasshouse.specs.spec import Spec
from glasshouse.version import __version__

# Raised whenever a folder written now could not be read by the release before.
FORMAT = 2
FILE = "study.json"
# Where an arm's runs for tuning lie, beside those of its seeds.
TUNING = "tuning"
# What JSON holds of an arm as it is.
ARM = ("name", "folder", "recipe", "changes", "asked", "replicas", "facts", "step_flops")


def root() -> Path:
    """The folder that holds studies: `GLASSHOUSE_STUDIES`, or `studies` under the current folder."""
    return Path(os.environ.get("GLASSHOUSE_STUDIES") or "studies")


@dataclass(frozen=True)
class Question:
    """What a person asked, as asked: two studies with the same question and the same arms are one."""

    kind: str  # "compare" or "sweep"
    words: tuple[str, ...]
    metric: str | None = None
    match: str = "steps"
    tune: str | None = None
    alpha: float = 0.05
    margin: float | None = None
    batch: int = 0  # seeds added at a time until it is decided; 0: all at once
    most: int = 0  # and the most of them

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many seeds a sequential study is judged."""
        return (*range(self.batch, self.most, self.batch), self.most) if self.batch else ()

    def options(self) -> list[str]:
        """The options of the command that asks this, without seeds and name."""
        given = [
            ("--metric", self.metric),
            ("--match", self.match if self.match != "steps" else None),
            ("--tune", self.tune),
            ("--alpha", repr(self.alpha) if self.alpha != 0.05 else None),
            ("--margin", repr(self.margin) if self.margin is not None else None),
        ]
        found = [word for name, value in given if value is not None for word in (name, value)]
        if self.batch:
            found += ["--until-decided", "--batch", str(self.batch), "--max-seeds", str(self.most)]
        return found


@dataclass(frozen=True)
class PlannedArm:
    """One arm before its runs: its spec as asked (TOML) and as it is run, what its runs know beforehand, notes on it."""

    name: str
    folder: str
    recipe: str
    changes: dict[str, str]
    asked: str
    spec: Spec
    facts: dict[str, Any]
    replicas: int = 1  # how many seeds train side by side
    notes: tuple[str, ...] = ()
    step_flops: int = 0  # of one training step; 0 in a study of an earlier release, which did not count them


@dataclass(frozen=True)
class Tuning:
    """A field that each arm gets its own best of: the values tried, and by arm the means found and the value chosen."""

    field: str
    values: dict[str, list[str]]
    seeds: tuple[int, ...]
    found: dict[str, dict[str, float | None]] = dataclasses.field(default_factory=dict)
    chosen: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Design:
    """Everything that is decided before the runs."""

    created: float
    question: Question
    arms: tuple[PlannedArm, ...]
    seeds: tuple[int, ...]
    metric: str
    rule: VerdictRule
    tuning: Tuning | None = None
    step_seconds: dict[str, list[float]] = dataclasses.field(default_factory=dict)  # by arm, round by round
    judged: tuple[int, ...] = ()  # numbers of seeds that were judged before more were asked for
    notes: tuple[str, ...] = ()
    leaks: tuple[Leak, ...] = ()  # of any arm's data
    finished: bool = False
    replicas: str = "auto"  # as asked for; how many of each arm were found is the arm's

    def command(self, name: str) -> str:
        """The command line that makes the study again."""
        plain = self.seeds == tuple(range(len(self.seeds)))
        seeds = str(len(self.seeds)) if plain else ",".join(map(str, self.seeds))
        wanted = [] if self.question.batch else ["--seeds", seeds]
        options = [*wanted, *self.question.options(), *(["--replicas", self.replicas] if self.replicas != "auto" else [])]
        return shlex.join(["glasshouse", self.question.kind, *self.question.words, *options, "--name", name])

    def to_json(self) -> dict[str, Any]:
        arms = []
        for arm in self.arms:
            plain = {name: getattr(arm, name) for name in ARM}
            arms.append({**plain, "notes": list(arm.notes), "spec": spec_files.to_toml(arm.spec)})
        names = ("created", "seeds", "metric", "step_seconds", "judged", "notes", "replicas")
        own = {name: getattr(self, name) for name in names}
        tables = {"question": asdict(self.question), "rule": asdict(self.rule), "arms": arms}
        tuning = asdict(self.tuning) if self.tuning else None
        head = {"format": FORMAT, "glasshouse": __version__}
        leaks = [asdict(leak) for leak in self.leaks]
        return {**head, **own, **tables, "tuning": tuning, "leaks": leaks, "finished": self.finished}

    @classmethod
    def from_json(cls, table: Mapping[str, Any], where: str) -> "Design":
        arms = tuple(
            PlannedArm(
                **{name: arm[name] for name in ARM if name in arm},
                spec=spec_files.from_toml(arm["spec"], where),
                notes=tuple(arm["notes"]),
            )
            for arm in table["arms"]
        )
        question = {**table["question"], "words": tuple(table["question"]["words"])}
        rule = {**table["rule"], "looks": tuple(table["rule"]["looks"])}
        tuning = table["tuning"] and Tuning(**{**table["tuning"], "seeds": tuple(table["tuning"]["seeds"])})
        return cls(
            created=table["created"],
            metric=table["metric"],
            step_seconds=table["step_seconds"],
            finished=table["finished"],
            seeds=tuple(table["seeds"]),
            judged=tuple(table["judged"]),
            notes=tuple(table["notes"]),
            leaks=tuple(Leak(**leak) for leak in table.get("leaks", ())),
            question=Question(**question),
            rule=VerdictRule(**rule),
            arms=arms,
            tuning=tuning or None,
            replicas=table.get("replicas", "auto"),
        )


@dataclass(frozen=True)
class StudyFolder:
    """One study on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def report_file(self) -> Path:
        return self.path / "report.html"

    def design(self) -> Design:
        """What was decided before the runs, from `study.json`."""
        file = self.path / FILE
        try:
            table = json.loads(file.read_text(encoding="utf-8"))
            written = table.get("format", 0)
            if written > FORMAT:
                raise RunError(
                    "newer-format",
                    f"{self.path} was written by a newer Glasshouse (study format {written}; this one reads up to "
                    f"{FORMAT}); upgrade with: pip install --upgrade glasshouse",
                )
            return Design.from_json(table, str(file))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError("not-a-study", f"{self.path} is not a study: its {FILE} cannot be read ({error})") from None

    def write(self, design: Design) -> None:
        atomic_files.write_json(self.path / FILE, design.to_json())

    def run(self, arm: PlannedArm, seed: int) -> RunFolder:
        """Where the run of an arm and a seed lies, whether it is there yet or not."""
        return RunFolder(self.path / arm.folder / f"seed-{seed}")

    def tuning_run(self, arm: PlannedArm, value: str, seed: int) -> RunFolder:
        """Where the run of an arm with another value of the tuned field lies."""
        return RunFolder(self.path / arm.folder / TUNING / value / f"seed-{seed}")

    def status(self, design: Design | None = None) -> Status:
        """DONE, TRAINING, or INTERRUPTED where runs are left and no process trains them."""
        if lock.held(self.path):
            return Status.TRAINING
        return Status.DONE if (design or self.design()).finished else Status.INTERRUPTED

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the study for this process."""
        with lock.holding(self.path, "wait for it or stop it, or give another --name"):
            yield


def create(design: Design, name: str, where: Path | None = None) -> StudyFolder:
    """A new study folder in `where`, by default the studies folder; FileExistsError where something is there already."""
    path = (where or root()) / run_folder.checked_name(name, "study")
    try:
        with atomic_files.folder(path) as temporary:
            atomic_files.write_json(temporary / FILE, design.to_json())
    except FileExistsError:
        raise
    except OSError as error:
        raise RunError(
            "cannot-write", f"cannot create the study folder {path}: {error}; set GLASSHOUSE_STUDIES to another place"
        ) from None
    return StudyFolder(path)


def at(name: str | os.PathLike[str]) -> StudyFolder | None:
    """The study of that name under the root, or at that path, if there is one."""
    given = Path(name)
    for path in [root() / given, given] if len(given.parts) == 1 else [given]:
        if (path / FILE).is_file():
            return StudyFolder(path)
    return None


def named(name: str | os.PathLike[str]) -> StudyFolder | None:
    """The study of a name, if there is one. Refuses a name that is a run's too."""
    study = at(name)
    if study and (run := run_folder.root() / name) != study.path and (run / "spec.toml").is_file():
        raise RunError("run-and-study", f"{str(name)!r} is both a run and a study; say which: {run} or {study.path}")
    return study


def find(name: str | os.PathLike[str]) -> StudyFolder:
    """The study of that name, or at that path."""
    if found := at(name):
        return found
    known = [study.name for study in every()]
    listing = f"the studies in {root()} are: {', '.join(known)}" if known else f"there are no studies in {root()} yet"
    raise RunError("unknown-study", f"there is no study {str(name)!r}{catalogue.nearest(str(name), known)} ({listing})")


def every() -> list[StudyFolder]:
    """All studies under the root, oldest first."""
    if not root().is_dir():
        return []
    paths = [path for path in root().iterdir() if (path / FILE).is_file() and path.name[0] != "."]
    return sorted(map(StudyFolder, paths), key=lambda study: (_created(study), study.name))


def _created(study: StudyFolder) -> float:
    """When a study was begun; one that cannot be read is listed first, and says so when it is opened."""
    try:
        return study.design().created
    except GlasshouseError:
        return 0.0
