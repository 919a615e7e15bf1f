"""The study folder: a question, its arms, and a folder of runs for each arm. Creates, reads, finds and locks it.

`study.json` holds everything that is decided before the runs. Every run is stored in `ARM/seed-N` as an ordinary run folder.
A study has no other state. Nothing in this module trains.
"""

import dataclasses
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from glasshouse.records import atomic_files, containment, kept_json, lock, run_folder, user_paths
from glasshouse.records.kept_schema import (
    Also,
    Between,
    Count,
    Seconds,
    Seed,
    Size,
    Text,
    Time,
    Written,
    as_type,
    fitting_entries,
)
from glasshouse.records.run_facts import PlanFacts
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.results.study import StudyRegistration
from glasshouse.specs import catalogue, options, spec_files
from glasshouse.specs.errors import GlasshouseError, RunError, SpecError
from glasshouse.specs.spec import Spec
from glasshouse.studies.study_options import MOST_SEEDS, Question, StudyOptions
from glasshouse.verdicts.verdict import VerdictRule
from glasshouse.version import __version__

FILE = "study.json"
# Increased whenever the previous release could not read a folder that this release writes.
FORMAT = 3
# Names that a study folder uses itself, or that would make it look like a run. No arm's folder has one.
RESERVED_NAMES = (FILE, "report.html", "table.md", "table.tex", "comparison.json", "multiverse", "checkpoints", lock.FILE)
# The folder among the studies that holds the trials of claims.
CLAIMS = "claims"
# The folder inside an arm's folder that holds its tuning runs.
TUNING = "tuning"
# Tuning uses seeds from here on, far from those that users choose.
FIRST_TUNING_SEED = 1_000_000
# More than commands accept.
MOST_ARMS = 1_000


def root() -> Path:
    """The folder that holds studies: `GLASSHOUSE_STUDIES`, or `studies` under the current folder."""
    return containment.folder_setting("GLASSHOUSE_STUDIES", "studies")


def checked_name(name: str) -> str:
    """Return the name if a study can have it, and refuse it otherwise."""
    if name == CLAIMS:
        raise RunError(f"{name!r} is the folder of the trials of claims and no name for a study; choose another")
    return run_folder.checked_name(name, "study")


class ArmFacts(TypedDict):
    """What is recorded in every run of an arm."""

    plan: PlanFacts
    data: NotRequired[str]
    labels: NotRequired[list[str]]
    start: NotRequired[dict[str, Any]]


@dataclass(frozen=True)
class PlannedArm:
    """One arm before its runs: the requested spec as TOML, the spec as it will run, and facts recorded in every run."""

    name: Text
    folder: Text
    recipe: Text
    changes: dict[str, str]
    asked: str  # the requested spec as TOML
    spec: Annotated[Spec, Written(spec_files.from_toml)]
    facts: Annotated[dict[str, Any], Also(ArmFacts)]
    replicas: Annotated[int, Between(1, 1e6)] = 1  # the maximum number of runs that train together
    notes: tuple[str, ...] = ()
    step_flops: Count = 0  # FLOPs of one training step


@dataclass(frozen=True)
class Tuning:
    """Tuning of one field before the comparison. All mappings are by arm: candidate values, mean metrics, chosen value."""

    field: str
    values: dict[str, list[str]]
    seeds: Annotated[tuple[Seed, ...], Size(1, MOST_SEEDS)]
    found: dict[str, dict[str, float | None]] = dataclasses.field(default_factory=dict)  # arm -> value -> mean metric
    chosen: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class Design:
    """Everything that is decided before the runs: the content of `study.json`."""

    created: Time
    question: Question
    arms: Annotated[tuple[PlannedArm, ...], Size(1, MOST_ARMS)]
    seeds: Annotated[tuple[Seed, ...], Size(1, MOST_SEEDS)]
    metric: Text
    rule: VerdictRule
    tuning: Tuning | None = None
    step_seconds: dict[str, list[Seconds]] = dataclasses.field(default_factory=dict)  # arm -> seconds per step in each round
    judged: tuple[Count, ...] = ()  # the numbers of seeds that had been judged each time more seeds were added
    notes: tuple[str, ...] = ()
    device: str = ""  # the device and the number format of all arms, in words
    power: str = ""  # the differences that the seeds find; empty before the first run is planned
    multiverse_cost: str = ""  # the runs that a multiverse adds
    leaks: tuple[str, ...] = ()  # data leakage in any arm's data
    finished: bool = False
    replicas: str = "auto"  # as requested; the resulting number is in each PlannedArm
    registered: StudyRegistration | None = None
    replicates: str = ""  # the name of the study that this one replicates, in the same folder of studies
    multiverse: bool = False  # whether the verdicts are also computed under other reasonable choices
    damage: tuple[str, ...] = ()  # what was left out on reading, because it was damaged; not kept
    all_pairs: bool = False  # whether all pairs of arms are judged besides the comparisons with the first arm
    # Whether the interval of evaluations was shortened for a curve, if nobody named it. False: as the recipes have it.
    shortens_interval: bool = False

    @property
    def planned_seeds(self) -> tuple[int, ...]:
        """The seeds that may be trained. In a sequential study they are more than have been trained so far."""
        if not self.question.until_decided:
            return self.seeds
        return tuple(range(self.seeds[0], self.seeds[0] + self.question.max_seeds))

    @property
    def split(self) -> str:
        """The split of the metric: "validation" of "validation.loss"."""
        return self.metric.partition(".")[0]

    @property
    def metric_name(self) -> str:
        return self.metric.partition(".")[2]

    def on_split(self, split: str) -> "Design":
        return dataclasses.replace(self, metric=f"{split}.{self.metric_name}")

    def command(self, name: str) -> str:
        """The command line that reproduces the study."""
        consecutive = self.seeds == tuple(range(len(self.seeds)))
        seeds = str(len(self.seeds)) if consecutive else ",".join(map(str, self.seeds))
        asked = {} if self.replicates else options.given(self.question)
        study = StudyOptions(
            **asked,
            seeds=None if self.question.until_decided else seeds,
            replicate=self.replicates or None,
            replicas=self.replicas,
            register=self.registered is not None,
            multiverse=self.multiverse,
            all_pairs=self.all_pairs and self.question.kind == "compare",
            name=name,
        )
        words = () if self.replicates else self.question.words
        return shlex.join(["glasshouse", self.question.kind, *words, *options.words(study)])

    def to_json(self) -> dict[str, Any]:
        table = asdict(self)
        del table["damage"]
        for kept, arm in zip(table["arms"], self.arms, strict=True):
            kept["spec"] = spec_files.to_toml(arm.spec)
        return {"format": FORMAT, "glasshouse": __version__, **table}

    @classmethod
    def from_json(cls, table: Mapping[str, Any], where: str) -> "Design":
        """Read `study.json`. Raises ValueError if it is damaged in a place that decides anything."""
        sound, faults = informing_entries(table)
        lost = {name: DECIDES_NOTHING[name] for name in table.keys() & DECIDES_NOTHING.keys() - sound.keys()}
        damage = [f"{where}: {fault}; it is left out" for fault in faults]
        kept = {name: value for name, value in table.items() if name not in ("format", "glasshouse")}
        design: Design = as_type({**kept, **lost, "damage": damage}, cls)
        if missing := [each.name for each in fields(VerdictRule) if each.name not in table["rule"]]:
            raise ValueError(f"rule.{missing[0]} is missing")
        design._check(where)
        return design

    def _check(self, where: str) -> None:
        """Refuse a design whose runs could be taken for others, or that no command makes. Raises ValueError or RunError."""
        # File systems that ignore case have one folder for both.
        names = {"name": [arm.name for arm in self.arms], "folder": [arm.folder.lower() for arm in self.arms]}
        for what, values in names.items():
            known = Counter(values)
            if twice := next((value for value, count in known.items() if count > 1), None):
                raise ValueError(f"two arms have the {what} {twice[:100]!r}")
        if taken := next((arm.folder for arm in self.arms if arm.folder.lower() in RESERVED_NAMES), None):
            raise ValueError(f"an arm has the folder {taken!r}, which is a name of the study's own files")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("its seeds name a seed twice")
        if max(self.rule.looks, default=0) > MOST_SEEDS:
            raise ValueError(f"rule.looks has more than {MOST_SEEDS:,} seeds")
        if self.replicates:
            containment.folder_within(Path(), [self.replicates], Path(where))
        tuning = self.tuning
        if tuning and not tuning.chosen and tuning.values.keys() != {arm.name for arm in self.arms}:
            raise ValueError("the arms of its tuning are not the arms of the study")


# The entries of `study.json` that decide nothing, with what stands in for a damaged one.
DECIDES_NOTHING = {"created": 0.0, "step_seconds": {}, "notes": [], "leaks": []}


def informing_entries(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The sound entries of `study.json` that decide nothing, and what is wrong with others, which a study opens without."""
    return fitting_entries({name: table[name] for name in DECIDES_NOTHING if name in table}, Design)


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
        file = self.path / FILE
        try:
            table = kept_json.read(file, dict[str, Any])
            kept_json.refuse_newer(table, FORMAT, self.path)
            return Design.from_json(table, str(file))
        except (OSError, ValueError, LookupError, ArithmeticError, SpecError) as error:
            raise RunError(f"{file} is no study ({error}); restore it, or delete the folder") from None

    def write(self, design: Design) -> None:
        """Write `study.json`. What was left out on reading would be lost, so a damaged study is not written."""
        if design.damage:
            raise RunError(f"{design.damage[0]}, and the study cannot go on; correct or delete that entry")
        atomic_files.write_json(self.path / FILE, design.to_json())

    def run(self, arm: PlannedArm, seed: int) -> RunFolder:
        """The run folder of one arm and seed, whether or not it exists yet."""
        return RunFolder(self._within(arm.folder, f"seed-{seed}"))

    def tuning_run(self, arm: PlannedArm, value: str, seed: int) -> RunFolder:
        return RunFolder(self._within(arm.folder, TUNING, value, f"seed-{seed}"))

    def _within(self, *names: str) -> Path:
        return containment.folder_within(self.path, names, self.path / FILE)

    def status(self, design: Design | None = None) -> Status:
        """DONE; TRAINING; or INTERRUPTED if runs are left and no process trains them."""
        if lock.is_held(self.path):
            return Status.TRAINING
        return Status.DONE if (design or self.design()).finished else Status.INTERRUPTED

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the study for this process. Whoever writes into the study holds the lock."""
        containment.refuse_links(self.path)
        with lock.hold(self.path, "wait for it or stop it, or choose another --name"):
            yield


def create(design: Design, name: str, where: Path | None = None) -> StudyFolder:
    """Create a study folder in `where`, by default the studies folder. Raises FileExistsError if the path exists."""
    path = (where or root()) / checked_name(name)
    try:
        with atomic_files.folder(path) as temporary:
            atomic_files.write_json(temporary / FILE, design.to_json())
    except FileExistsError:
        if not path.exists():  # not the study, but what it would stand in
            raise RunError(f"{path.parent} is not a folder; set GLASSHOUSE_STUDIES to a folder") from None
        raise
    except OSError as error:
        raise RunError(f"cannot create the study folder {path}: {error}; set GLASSHOUSE_STUDIES to another folder") from None
    return StudyFolder(path)


def find_or_none(name: str | os.PathLike[str]) -> StudyFolder | None:
    """The study with that name in the studies folder, or at that path; None if it does not exist."""
    relative = user_paths.checked(name, "a study")
    for path in [root() / relative, relative] if len(relative.parts) == 1 else [relative]:
        if (path / FILE).exists():
            return StudyFolder(path)
    return None


def find_unambiguous(name: str | os.PathLike[str]) -> StudyFolder | None:
    """As `find_or_none`, but refuses a name that both a study and a run have."""
    study = find_or_none(name)
    if study and (run := run_folder.root() / name) != study.path and (run / "spec.toml").is_file():
        raise RunError(f"{str(name)!r} is both a run and a study; write the path: {run} or {study.path}")
    return study


def find(name: str | os.PathLike[str]) -> StudyFolder:
    if study := find_or_none(name):
        return study
    known = [study.name for study in all_studies()]
    listing = f"the studies in {root()} are: {', '.join(known)}" if known else f"there are no studies in {root()} yet"
    raise RunError(f"there is no study {str(name)!r}{catalogue.did_you_mean(str(name), known)} ({listing})")


def readable_studies(folder: Path) -> Iterator[tuple[StudyFolder, Design]]:
    """The studies in a folder with their designs. A damaged one is left out; it is reported when it is opened."""
    for path in folder.iterdir() if folder.is_dir() else ():
        study = StudyFolder(path)
        try:
            design = study.design() if (path / FILE).is_file() else None
        except GlasshouseError:
            continue
        if design:
            yield study, design


def all_studies() -> list[StudyFolder]:
    """All studies in the studies folder, oldest first."""
    if not root().is_dir():
        return []
    paths = [path for path in root().iterdir() if (path / FILE).exists() and path.name[0] != "."]
    created = {study.path: design.created for study, design in readable_studies(root())}
    # A damaged one is listed first.
    return sorted(map(StudyFolder, paths), key=lambda study: (created.get(study.path, 0.0), study.name))
