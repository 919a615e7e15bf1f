"""A request for a study: the study that has the same question is found and extended, or else a new one is created.

Checks that nothing which was decided before the runs is changed afterwards. Trains nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from glasshouse.formatting import duration
from glasshouse.launching.submission import Submission
from glasshouse.records import progress_bar, run_folder
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError, SpecError
from glasshouse.specs.options import options_of
from glasshouse.studies import (
    multiverse,
    study_folder,
    study_pairs,
    study_planning,
    study_registration,
    study_replication,
    tuning,
)
from glasshouse.studies.arms import Variant
from glasshouse.studies.run_queue import Place
from glasshouse.studies.study_folder import FIRST_TUNING_SEED, Design, StudyFolder, Tuning
from glasshouse.studies.study_options import Question, StudyOptions


@dataclass(frozen=True)
class StudyRequest:
    """A study that is to be created, or continued if there is one with the same question."""

    question: Question
    options: StudyOptions  # without a name: the default name, with a number if a study with another question has it
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    tuning: Tuning | None
    default_name: str
    root: Path
    replicates: str = ""
    shortens_interval: bool = False  # of a new study; one that is continued keeps what it has

    def find(self) -> tuple[StudyFolder | None, str]:
        """(the study with the same question, or None; the name for a new study)."""
        for numbered in run_folder.numbered_names(self.default_name):
            candidate = self.options.name or numbered
            path = self.root / candidate
            if not path.exists():
                return None, candidate
            study = study_folder.find_or_none(path)
            difference = self._difference_from(study.design()) if study else "it is not a study"
            if study and not difference:
                return study, candidate
            if self.options.name:
                raise RunError(f"{path} already exists, and {difference}; choose another --name, or delete it")
        raise AssertionError

    def _difference_from(self, design: Design) -> str:
        if design.replicates != self.replicates:
            if not self.replicates:
                return f"it is a replication of {design.replicates}"
            return f"it is no replication of {self.replicates}"
        return _question_difference(design, self.question, self.variants)


def open_or_create(request: StudyRequest, place: Place) -> StudyFolder | Submission:
    """The study with the same question, extended by what is new in the request; else a new study. Trains nothing.

    Where the study is planned by a job, that job is returned.
    """
    options = request.options
    if options.multiverse:
        multiverse.check(request.question, request.variants)
    if options.all_pairs:
        study_pairs.check(len(request.variants))
    study, unused_name = request.find()
    if study is None:
        if submitted := place.plan(unused_name):
            return submitted
        design = _planned(request, place.device)
        while study is None:
            try:
                created = study_folder.create(design, unused_name, request.root)
            except FileExistsError:
                # Meanwhile another process created a study of that name, perhaps with the same question.
                study, unused_name = request.find()
            else:
                _announce(created, design)
                return created
    unchanged = _unchanged_settings(study.design(), request.seeds, options.replicas)
    progress_bar.say(f"continuing {study.path}, which asks the same question{unchanged}")
    if options.register:
        _register(study)
    add_seeds(study, request.seeds)
    if options.multiverse:
        _add_multiverse(study, study_replication.variants_of(study))
    if options.all_pairs:
        study_pairs.add(study)
    return study


def _planned(request: StudyRequest, device: str) -> Design:
    """The design of a new study."""
    options = request.options
    plan = (request.question, request.variants, request.seeds, device, options.replicas, request.tuning)
    design = study_planning.make_design(
        *plan, with_multiverse=options.multiverse, shortens_interval=request.shortens_interval
    )
    design = replace(design, replicates=request.replicates, all_pairs=options.all_pairs)
    if options.multiverse:
        design = _with_multiverse(design, request.variants)
    if options.register:
        design = replace(design, registered=study_registration.new_registration(design))
    return design


def _question_difference(design: Design, question: Question, variants: Sequence[Variant]) -> str:
    """How the question of an existing study differs from this one; empty if they are the same."""
    for name in ("kind", *(option.name for option in options_of(Question))):
        old, new = getattr(design.question, name), getattr(question, name)
        if old != new:
            return f"its {name.replace('_', '-')} is {old}, not {new}"
    old_names, new_names = [arm.name for arm in design.arms], [variant.name for variant in variants]
    if old_names != new_names:
        return f"its arms are {', '.join(old_names)}, not {', '.join(new_names)}"
    for arm, variant in zip(design.arms, variants, strict=True):
        if changed := spec_files.difference(spec_files.from_toml(arm.asked, f"arm {arm.name}"), variant.spec):
            return f"the spec of its arm {arm.name!r} is different ({changed})"
    return ""


def _unchanged_settings(design: Design, seeds: Sequence[int], replicas: str) -> str:
    """The settings that the study keeps although the command now has other ones."""
    parts = []
    if not design.question.until_decided and (others := [seed for seed in design.seeds if seed not in seeds]):
        parts.append(f"; its other seeds ({len(others)}) are kept")
    if replicas != design.replicas:
        parts.append(f"; its --replicas {design.replicas} is kept, not {replicas}")
    return "".join(parts)


def add_seeds(study: StudyFolder, seeds: Sequence[int]) -> None:
    """Add the seeds that the study does not have yet."""
    with study.locked():
        design = study.design()
        if design.question.until_decided or not (new := [seed for seed in seeds if seed not in design.seeds]):
            return
        if design.registered:
            study_registration.refuse_seeds(study, new)
        if design.tuning and set(new) & set(design.tuning.seeds):
            raise SpecError(
                f"--seeds contains one of {design.tuning.seeds}, which tuning used; choose seeds that tuning did not use"
            )
        judged = (*design.judged, len(design.seeds)) if design.finished else design.judged
        study.write(replace(design, seeds=(*design.seeds, *new), judged=judged, finished=False))


def _announce(study: StudyFolder, design: Design) -> None:
    """Print the size of the study, the training time of all its runs in sequence, and how the arms are matched."""
    seconds = sum(arm.facts["plan"]["seconds"] for arm in design.arms) * len(design.seeds)
    count = f"{len(design.arms)} arms with {len(design.seeds)} seeds each"
    progress_bar.say(f"{Path(study.path)}: {count}, about {duration(seconds)} one after another; {design.notes[0]}")
    if design.multiverse_cost:
        progress_bar.say(design.multiverse_cost)
    if design.registered:
        progress_bar.say(f"registered before the first run, digest {design.registered.digest}")


def _register(study: StudyFolder) -> None:
    """Register a study that has no runs yet; one that is registered stays as it is."""
    with study.locked():
        design = study.design()
        if design.registered:
            return
        if _has_runs(study, design):
            study_registration.refuse_late(study)
        study.write(replace(design, registered=study_registration.new_registration(design)))


def _has_runs(study: StudyFolder, design: Design) -> bool:
    return any((study.path / arm.folder).exists() for arm in design.arms)


def _with_multiverse(design: Design, variants: Sequence[Variant]) -> Design:
    """The design with a multiverse, and with a note on what it costs."""
    others = [universe for universe in multiverse.universes(design.question, variants) if not universe.main]
    tuned = next((universe.tune for universe in others if universe.tune), None)
    plan = tuning.parse(tuned, variants, design.seeds, tuning_seed_of_multiverse(design))
    tuning_runs = len(plan.seeds) * sum(map(len, plan.values.values())) if plan else 0
    return replace(design, multiverse=True, multiverse_cost=multiverse.cost(design, others, tuning_runs))


def _add_multiverse(study: StudyFolder, variants: Sequence[Variant]) -> None:
    with study.locked():
        design = study.design()
        if not design.multiverse:
            design = _with_multiverse(design, variants)
            progress_bar.say(design.multiverse_cost)
            study.write(design)


def tuning_seed_of_multiverse(design: Design) -> int:
    """The first seed of tuning in other universes: the study's own, or else one that differs between replications."""
    return design.tuning.seeds[0] if design.tuning else FIRST_TUNING_SEED + design.seeds[0]
