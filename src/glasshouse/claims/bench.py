"""The bench: what the experiment of a claim may use (planned studies, step times, cached numbers). Knows no claim.

Everything is stored in the folder of the trial and done only once. Repeating an interrupted trial continues it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glasshouse.claims import step_timing
from glasshouse.claims.step_timing import Timing
from glasshouse.data.sources import data_set_list
from glasshouse.launching.submission import Submission
from glasshouse.records import atomic_files, kept_json, run_folder
from glasshouse.records.status import Status
from glasshouse.results.claim import Series
from glasshouse.results.study import StudyResults
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError
from glasshouse.studies import study_results, study_runner, study_values
from glasshouse.studies.run_queue import Place
from glasshouse.studies.study_folder import StudyFolder
from glasshouse.studies.study_options import StudyOptions
from glasshouse.studies.study_runner import Report


class Submitted(Exception):
    """The runs of a study were submitted to a cluster, so there is nothing to measure yet."""

    def __init__(self, submission: Submission) -> None:
        super().__init__()
        self.submission = submission


@dataclass(frozen=True)
class StudyPlan:
    """A study that a claim will run: the arguments of `glasshouse compare`. `{name}` in a word is filled in by the claim.

    A filled-in word depends on earlier results, for example on the run to start from. `quick` are further overrides of a
    quick run.
    """

    name: str
    words: tuple[str, ...]
    metric: str | None = None
    match: str = "steps"
    tune: str | None = None
    margin: float | None = None
    most_seeds: int = 0  # at most this many seeds; 0: as many as the trial has
    seed_offset: int = 0  # added to the seeds of the trial, so that two studies of one arm have different seeds
    quick: tuple[str, ...] = ()
    recipes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name of a written recipe -> recipe and overrides
    timed_only: bool = False  # steps are timed, nothing is trained to its end
    timing: Timing = field(default_factory=Timing)  # of a study that is timed only


@dataclass(frozen=True)
class Bench:
    """Runs the planned studies and timings of a trial."""

    folder: Path
    plans: Mapping[str, StudyPlan]
    first_seed: int
    seeds: int
    quick: bool = False
    device: str = "auto"
    place: Place | None = None  # where the runs are trained; None: here
    report: Report = lambda study: None  # writes the report of a study

    def study(self, name: str, **filled: str) -> StudyResults:
        """Run or continue a planned study in the trial's folder. `filled` gives the words in braces of its plan."""
        plan = self.plans[name]
        count = min(self.seeds, plan.most_seeds or self.seeds)
        first = self.first_seed + plan.seed_offset
        options = StudyOptions(
            metric=plan.metric,
            match=plan.match,
            tune=None if self.quick else plan.tune,
            margin=plan.margin,
            seeds=tuple(range(first, first + count)),
            replicas="off" if self.quick else "auto",
            name=name,
        )
        words = self.words(name, **filled)
        place = self.place or Place(self.device)
        study = study_runner.run_study("compare", words, options, place, self.report, self.folder, self.quick)
        if isinstance(study, Submission):
            raise Submitted(study)
        return study_results.collect(study)

    def words(self, name: str, **filled: str) -> tuple[str, ...]:
        """The words of a planned study, filled in. Recipes that the plan defines are written to the trial's folder."""
        plan = self.plans[name]
        words = [word.format_map(_Filled(filled)) for word in plan.words]
        for recipe, parts in plan.recipes.items():
            path = self.folder / f"{run_folder.checked_name(recipe)}.toml"
            base, *overrides = (part.format_map(_Filled(filled)) for part in parts)
            atomic_files.write_text(path, spec_files.to_toml(resolve_spec.spec_of(base, *overrides)))
            words = [str(path) if word == recipe else word for word in words]
        return (*words, *(plan.quick if self.quick else ()))

    def values(self, study: StudyResults | str, arm: str, metric: str) -> Series:
        """Seed -> any metric of an arm's runs; NaN if the run diverged."""
        folder = self._study_folder(study)
        design = folder.design()
        [planned] = [candidate for candidate in design.arms if candidate.name == arm]
        by_seed = ((seed, study_values.final_value(folder.run(planned, seed), metric)) for seed in design.seeds)
        return Series({seed: number for seed, number in by_seed if number is not None})

    def item_values(self, study: StudyResults | str, arm: str, split: str, metric: str) -> Series:
        """As `values`, with the value of each item of the split. Cached in the study's folder."""
        folder = self._study_folder(study)
        index = [candidate.name for candidate in folder.design().arms].index(arm)
        runs = self.finished_runs(study, arm)
        file = f"items-{split}-{metric}-of-arm-{index}-by-{len(folder.design().seeds)}"
        table = self.cached(
            file, lambda: {str(run.spec.training.seed): run.item_values(split)[metric].tolist() for run in runs}, study
        )
        plain = self.values(study, arm, f"{split}.{metric}").values
        items = {int(seed): tuple(row) for seed, row in table.items()}
        return Series({seed: sum(items[seed]) / len(items[seed]) if seed in items else plain[seed] for seed in plain}, items)

    def finished_runs(self, study: StudyResults | str, arm: str) -> list[Run]:
        """The runs of an arm that did not diverge, in the order of the seeds. A run's seed is `run.spec.training.seed`."""
        folder = self._study_folder(study)
        design = folder.design()
        [planned] = [candidate for candidate in design.arms if candidate.name == arm]
        runs = [Run(folder.run(planned, seed), self.device) for seed in design.seeds]
        return [run for run in runs if run.folder.recorded_status() == Status.DONE]

    def has(self, *sources: str) -> bool:
        """Whether the data of all these sources are on this machine."""
        return all(data_set_list.find_data_set(source).present for source in sources)

    def facts(self, *studies: StudyResults) -> list[tuple[str, str]]:
        """What a reader of the trial should know of its studies: sizes, steps, tuned values, notes and number formats."""
        facts = []
        for study in studies:
            for arm in study.arms:
                text = f"{arm.parameters:,} parameters, {arm.steps:,} steps"
                facts.append((f"{study.name}, {arm.name}", "; ".join([text, *arm.notes])))
            facts += [(study.name, leak) for leak in study.leaks]
            if device := self._study_folder(study).design().device:
                facts.append((study.name, device))
        return facts

    def starts(self, study: StudyResults | str, arm: str) -> str:
        """The value of `training.start_from` with which every seed starts from the arm's run of the same seed."""
        folder = self._study_folder(study)
        [planned] = [candidate for candidate in folder.design().arms if candidate.name == arm]
        return str((folder.path / planned.folder / "seed-{seed}").absolute())

    def cached(self, name: str, compute: Callable[[], Any], study: StudyResults | str | None = None) -> Any:
        """The result of `compute`, stored as JSON under this name in the trial's folder and computed only once.

        With `study`, the file is stored in the study's folder, so that deleting the study deletes it too.
        """
        folder = self.folder if study is None else self._study_folder(study).path
        path = folder / f"{run_folder.checked_name(name)}.json"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            atomic_files.write_json(path, compute())
        try:
            return kept_json.read(path)
        except ValueError as error:
            raise RunError(f"{path} cannot be read ({error}); delete it to have it computed again") from None

    def step_seconds(self, name: str, **filled: str) -> dict[str, list[float]]:
        """Arm -> seconds per training step in each round of the plan's timing. Cached under the study's name."""
        plan = self.plans[name]
        timing = plan.timing.quick if self.quick else plan.timing
        words = self.words(name, **filled)
        return self.cached(f"{name}-seconds", lambda: step_timing.time_steps(words, timing, self.device, name))

    def _study_folder(self, study: StudyResults | str) -> StudyFolder:
        return StudyFolder(self.folder / (study if isinstance(study, str) else study.name))


class _Filled(dict[str, str]):
    """Words in braces and their values; `{seed}` and other unknown words stay."""

    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"
