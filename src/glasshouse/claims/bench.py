"""The bench that a claim is tried at: studies, runs, times and kept figures, all inside the claim's own folder.

Whatever is done once is there the next time, so that a trial that was stopped goes on by being repeated. Knows no claim.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glasshouse.pages.study_content import StudyResults
from glasshouse.records import atomic_files, progress_bar, run_folder
from glasshouse.records.run_folder import RunFolder
from glasshouse.records.status import Status
from glasshouse.runs import resolve_spec
from glasshouse.runs.run import Run
from glasshouse.specs import spec_files
from glasshouse.specs.errors import RunError
from glasshouse.studies import arms, run_queue, study_results, study_runner
from glasshouse.studies.run_queue import QueuedRun
from glasshouse.studies.study import Study
from glasshouse.studies.study_folder import Question, StudyFolder
from glasshouse.training import cost_plan as planning
from glasshouse.training import devices
from glasshouse.training.job import Job

# Rounds in which steps are timed: each arm has its turn in each.
ROUNDS, QUICK_ROUNDS = 20, 2


@dataclass(frozen=True)
class Bench:
    """What a claim may use. In a quick look, the overrides that a claim names as `quick` hold as well."""

    folder: Path
    seeds: int
    quick: bool = False
    device: str = "auto"

    def compare(
        self,
        name: str,
        *words: str,
        metric: str | None = None,
        match: str = "steps",
        margin: float | None = None,
        tune: str | None = None,
        quick: Sequence[str] = (),
    ) -> StudyResults:
        """A study of this name in the claim's folder, from the words of `glasshouse compare`, continued where it stands."""
        question = Question("compare", self._words(words, quick), metric, match, tune, margin=margin)
        replicas = "off" if self.quick else "auto"
        study = study_runner.conduct(question, self.seeds, name, self.device, replicas, self.folder)
        return study_results.compare(study)

    def values(self, comparison: StudyResults | str, arm: str, metric: str) -> dict[int, float]:
        """Another metric of the runs of a study: seed -> value, NaN where it diverged."""
        study = self._study(comparison)
        design = study.design()
        [planned] = [each for each in design.arms if each.name == arm]
        found = ((seed, study_results.value(study.run(planned, seed), metric)) for seed in design.seeds)
        return {seed: number for seed, number in found if number is not None}

    def runs(self, comparison: StudyResults | str, arm: str) -> list[Run]:
        """The opened runs of an arm that came through, by seed; a run's own is `run.spec.training.seed`."""
        study = Study(self._study(comparison))
        opened = [study.run(arm, seed, self.device) for seed in study.design.seeds]
        return [run for run in opened if run.folder.recorded_status() == Status.DONE]

    def train(self, name: str, recipe: str, *overrides: str, quick: Sequence[str] = ()) -> Run:
        """One run of this name in the claim's folder, done once."""
        spec = resolve_spec.spec_of(recipe, *self._words(overrides, quick))
        run = RunFolder(self.folder / run_folder.checked_name(name))
        # What was asked for is kept apart: a run's own spec also says what its plan chose.
        asked = spec_files.to_toml(spec)
        if run.path.is_dir() and spec_files.renewed(run.facts().get("asked", asked)) != asked:
            raise RunError(
                "claim-run-changed",
                f"{run.path} has another spec than this claim asks for now; delete it to have it done again",
            )
        run_queue.do([QueuedRun(run, name, spec, resolve_spec.name_of(recipe), {"asked": asked})], self.device, name)
        if run.recorded_status() == Status.FAILED:
            raise RunError("claim-run-failed", f"{run.path} did not come through: {run.facts().get('wrong')}")
        return Run(run, self.device)

    def once(self, name: str, make: Callable[[], Any], of: StudyResults | str | None = None) -> Any:
        """Figures that take a while to find, kept as JSON under this name in the claim's folder.

        Those `of` a study lie in the study's own, so that they go when it is deleted.
        """
        place = self.folder if of is None else self._study(of).path
        path = place / f"{run_folder.checked_name(name)}.json"
        if not path.exists():
            place.mkdir(parents=True, exist_ok=True)
            atomic_files.write_json(path, make())
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise RunError(
                "unreadable-figures", f"{path} cannot be read ({error}); delete it to have it made again"
            ) from None

    def step_seconds(self, name: str, *words: str, quick: Sequence[str] = ()) -> dict[str, list[float]]:
        """Arm -> seconds of one training step, round by round: each arm alone, all in turn in every round, measured once.

        In every other round the order is reversed, so that a machine that grows slower is unfair to none.
        """
        return self.once(name, lambda: self._timed(name, self._words(words, quick)))

    def _timed(self, name: str, words: Sequence[str]) -> dict[str, list[float]]:
        variants = arms.variants(arms.read(words))
        rounds = QUICK_ROUNDS if self.quick else ROUNDS
        with progress_bar.bar(f"timing {name}", outer=True) as show, progress_bar.quiet():
            jobs = [Job.of(variant.spec, devices.pick(self.device)) for variant in variants]
            plan = planning.make(jobs[0])
            jobs = [_as_planned(job, plan) for job in jobs]
            engines = [planning.trial(job).engine() for job in jobs]
            found: dict[str, list[float]] = {variant.name: [] for variant in variants}
            for turn in range(rounds):
                order = range(len(jobs)) if turn % 2 == 0 else reversed(range(len(jobs)))
                for place in order:
                    with devices.threads(jobs[place].spec.training.threads):
                        found[variants[place].name].append(planning.step_seconds(engines[place], jobs[place].device))
                show((turn + 1) / rounds)
        return found

    def _words(self, words: Sequence[str], quick: Sequence[str]) -> tuple[str, ...]:
        return (*words, *(quick if self.quick else ()))

    def _study(self, comparison: StudyResults | str) -> StudyFolder:
        return StudyFolder(self.folder / (comparison if isinstance(comparison, str) else comparison.name))


def _as_planned(job: Job, plan: planning.Plan) -> Job:
    """The job at the precision and the threads that were found best for the first arm."""
    chosen = replace(job.spec.training, precision=plan.precision, threads=plan.threads)
    return replace(job, spec=replace(job.spec, training=chosen))
