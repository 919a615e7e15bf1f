"""The bench: what the experiment of a claim may use (planned studies, step times, cached numbers). Knows no claim.

Everything is stored in the folder of the trial and done only once. Repeating an interrupted trial continues it.
"""

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from glasshouse.data.sources import data_set_list
from glasshouse.pages.claim_content import Series
from glasshouse.pages.study_content import StudyResults
from glasshouse.records import atomic_files, progress_bar, run_folder
from glasshouse.records.status import Status
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError
from glasshouse.studies import arms, study_results, study_runner
from glasshouse.studies.study import Study
from glasshouse.studies.study_folder import Question, StudyFolder
from glasshouse.training import cost_plan, devices
from glasshouse.training.engine import Engine
from glasshouse.training.job import Job

# The name under which the first arm of a timed study is timed again.
AGAIN = "the first arm again"
QUICK_ROUNDS = 2
# Rounds of each build that do not count. A CUDA graph is recorded after a few steps of each shape of batch.
WARM_UP_ROUNDS = 3


@dataclass(frozen=True)
class Timing:
    """How the steps of a timed study are timed.

    Machines become slower and faster over seconds, so many short rounds compare arms better than a few long ones. Where a
    model lies in memory changes its speed too, so that arms are compared fairly only over several builds of each model.
    """

    rounds: int = 20  # of each build; every arm is timed once in each round
    steps: int = 20  # that an arm takes in a round at most, apart from one to warm up; their median counts
    builds: int = 1  # how often all models are built anew
    again: bool = False  # time the first arm twice, under the name AGAIN too: two names for one thing must take the same time


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
    timing: Timing = Timing()  # of a study that is timed only


@dataclass(frozen=True)
class Bench:
    """Runs the planned studies and timings of a trial."""

    folder: Path
    plans: Mapping[str, StudyPlan]
    first_seed: int
    seeds: int
    quick: bool = False
    device: str = "auto"

    def study(self, name: str, **filled: str) -> StudyResults:
        """Run or continue a planned study in the trial's folder. `filled` gives the words in braces of its plan."""
        plan = self.plans[name]
        question = Question(
            kind="compare",
            words=self.words(name, **filled),
            metric=plan.metric,
            match=plan.match,
            tune=None if self.quick else plan.tune,
            margin=plan.margin,
        )
        count = min(self.seeds, plan.most_seeds or self.seeds)
        first = self.first_seed + plan.seed_offset
        seeds = tuple(range(first, first + count))
        replicas = "off" if self.quick else "auto"
        study = study_runner.run_study(question, seeds, name, self.device, replicas, self.folder)
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
        by_seed = ((seed, study_results.final_value(folder.run(planned, seed), metric)) for seed in design.seeds)
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
        opened_study = Study(self._study_folder(study))
        runs = [opened_study.run(arm, seed, self.device) for seed in opened_study.design.seeds]
        return [run for run in runs if run.folder.recorded_status() == Status.DONE]

    def has(self, *sources: str) -> bool:
        """Whether the data of all these sources are on this machine."""
        return all(data_set_list.find_data_set(source).present for source in sources)

    def facts(self, *studies: StudyResults) -> list[tuple[str, str]]:
        """What a reader of the trial should know of its studies: sizes, steps, tuned values and notes of each arm."""
        facts = []
        for study in studies:
            for arm in study.arms:
                text = f"{arm.parameters:,} parameters, {arm.steps:,} steps"
                facts.append((f"{study.name}, {arm.name}", "; ".join([text, *arm.notes])))
            facts += [(study.name, leak) for leak in study.leaks]
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
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise RunError(
                "unreadable-figures", f"{path} cannot be read ({error}); delete it to have it computed again"
            ) from None

    def step_seconds(self, name: str, **filled: str) -> dict[str, list[float]]:
        """Arm -> seconds per training step in each round, of a planned study that is timed only. Cached under this name.

        Each arm is timed alone, and all arms are timed in every round. Every other round reverses the order of the arms, so
        that a machine that becomes slower with time favours no arm. The rounds of the first build come first.
        """
        return self.cached(f"{name}-seconds", lambda: self._time_steps(name, self.words(name, **filled)))

    def _time_steps(self, name: str, words: Sequence[str]) -> dict[str, list[float]]:
        timing = self.plans[name].timing
        if self.quick:
            timing = replace(timing, rounds=QUICK_ROUNDS, builds=min(timing.builds, QUICK_ROUNDS))
        variants = arms.expand(arms.parse(words))
        with progress_bar.bar(f"timing {name}", outer=True) as show, progress_bar.quiet():
            jobs = {variant.name: Job.prepare(variant.spec, devices.pick(self.device)) for variant in variants}
            plan = cost_plan.make(jobs[variants[0].name])
            jobs = {arm: _with_plan_settings(job, plan) for arm, job in jobs.items()}
            if timing.again:
                jobs[AGAIN] = jobs[variants[0].name]
            names, seconds = list(jobs), {arm: list[float]() for arm in jobs}
            for build in range(timing.builds):
                # Each build begins with another arm, so that none is always the first in memory.
                order = [*names[build % len(names) :], *names[: build % len(names)]]
                engines = {arm: cost_plan.timing_job(jobs[arm]).engine() for arm in order}
                for round_number in range(-WARM_UP_ROUNDS, timing.rounds):
                    for arm in order if round_number % 2 == 0 else reversed(order):
                        with devices.threads(plan.threads):
                            measured = _median_step_seconds(engines[arm], timing.steps)
                        if round_number >= 0:
                            seconds[arm].append(measured)
                    show((build + max(round_number + 1, 0) / timing.rounds) / timing.builds)
        return seconds

    def _study_folder(self, study: StudyResults | str) -> StudyFolder:
        return StudyFolder(self.folder / (study if isinstance(study, str) else study.name))


class _Filled(dict[str, str]):
    """Words in braces and their values; `{seed}` and other unknown words stay."""

    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


def _median_step_seconds(engine: Engine, steps: int) -> float:
    """The median time of at most `steps` steps, without a first one: the other arms have emptied the caches before it.

    Slow steps are cut short as in a cost plan.
    """
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 2 or (len(times) <= steps and time.perf_counter() - begin < cost_plan.TIMING_SECONDS):
        devices.synchronise(engine.device)
        start = time.perf_counter()
        engine.step(len(times) % engine.steps)
        devices.synchronise(engine.device)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _with_plan_settings(job: Job, plan: cost_plan.Plan) -> Job:
    """The job with the precision and threads that were planned for the first arm."""
    training = replace(job.spec.training, precision=plan.precision, threads=plan.threads)
    return replace(job, spec=replace(job.spec, training=training))
