"""The bench: what the experiment of a claim may use (studies, single runs, step times, cached numbers). Knows no claim.

Everything is stored in the claim's own folder and done only once. Repeating an interrupted experiment continues it.
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
from glasshouse.training import cost_plan, devices
from glasshouse.training.job import Job

# Rounds in which steps are timed; every arm is timed once in each round.
ROUNDS, QUICK_ROUNDS = 20, 2


@dataclass(frozen=True)
class Bench:
    """Runs the studies and timings of an experiment. In a quick run, every method also applies the overrides `quick`."""

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
        """Run or continue a study in the claim's folder. `words` are the arguments of `glasshouse compare`."""
        question = Question("compare", self._with_quick(words, quick), metric, match, tune, margin=margin)
        replicas = "off" if self.quick else "auto"
        study = study_runner.run_study(question, self.seeds, name, self.device, replicas, self.folder)
        return study_results.collect(study)

    def values(self, study: StudyResults | str, arm: str, metric: str) -> dict[int, float]:
        """Seed -> any metric of an arm's runs; NaN if the run diverged."""
        folder = self._study_folder(study)
        design = folder.design()
        [planned] = [candidate for candidate in design.arms if candidate.name == arm]
        by_seed = ((seed, study_results.final_value(folder.run(planned, seed), metric)) for seed in design.seeds)
        return {seed: number for seed, number in by_seed if number is not None}

    def finished_runs(self, study: StudyResults | str, arm: str) -> list[Run]:
        """The runs of an arm that did not diverge, in the order of the seeds. A run's seed is `run.spec.training.seed`."""
        opened_study = Study(self._study_folder(study))
        runs = [opened_study.run(arm, seed, self.device) for seed in opened_study.design.seeds]
        return [run for run in runs if run.folder.recorded_status() == Status.DONE]

    def train(self, name: str, recipe: str, *overrides: str, quick: Sequence[str] = ()) -> Run:
        """Train one run with this name in the claim's folder, unless it is already there."""
        spec = resolve_spec.spec_of(recipe, *self._with_quick(overrides, quick))
        run = RunFolder(self.folder / run_folder.checked_name(name))
        # The requested spec is recorded separately, because planning fills in fields of the run's own spec.
        requested = spec_files.to_toml(spec)
        if run.path.is_dir() and spec_files.in_current_format(run.facts().get("asked", requested)) != requested:
            raise RunError(
                "claim-run-changed",
                f"{run.path} has another spec than this claim now requests; delete the folder to train it again",
            )
        queued = QueuedRun(run, name, spec, resolve_spec.name_of(recipe), {"asked": requested})
        run_queue.run_all([queued], self.device, name)
        if run.recorded_status() == Status.FAILED:
            raise RunError("claim-run-failed", f"{run.path} diverged: {run.facts().get('wrong')}")
        return Run(run, self.device)

    def cached(self, name: str, compute: Callable[[], Any], study: StudyResults | str | None = None) -> Any:
        """The result of `compute`, stored as JSON under this name in the claim's folder and computed only once.

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

    def step_seconds(self, name: str, *words: str, quick: Sequence[str] = ()) -> dict[str, list[float]]:
        """Arm -> seconds per training step in each round. Cached under this name.

        Each arm is timed alone, and all arms are timed in every round. Every other round reverses the order of the arms, so
        that a machine that becomes slower with time favours no arm.
        """
        return self.cached(name, lambda: self._time_steps(name, self._with_quick(words, quick)))

    def _time_steps(self, name: str, words: Sequence[str]) -> dict[str, list[float]]:
        variants = arms.expand(arms.parse(words))
        rounds = QUICK_ROUNDS if self.quick else ROUNDS
        with progress_bar.bar(f"timing {name}", outer=True) as show, progress_bar.quiet():
            jobs = [Job.prepare(variant.spec, devices.pick(self.device)) for variant in variants]
            plan = cost_plan.make(jobs[0])
            jobs = [_with_plan_settings(job, plan) for job in jobs]
            engines = [cost_plan.timing_job(job).engine() for job in jobs]
            seconds: dict[str, list[float]] = {variant.name: [] for variant in variants}
            for round_number in range(rounds):
                order = range(len(jobs)) if round_number % 2 == 0 else reversed(range(len(jobs)))
                for index in order:
                    with devices.threads(jobs[index].spec.training.threads):
                        seconds[variants[index].name].append(cost_plan.step_seconds(engines[index], jobs[index].device))
                show((round_number + 1) / rounds)
        return seconds

    def _with_quick(self, words: Sequence[str], quick: Sequence[str]) -> tuple[str, ...]:
        return (*words, *(quick if self.quick else ()))

    def _study_folder(self, study: StudyResults | str) -> StudyFolder:
        return StudyFolder(self.folder / (study if isinstance(study, str) else study.name))


def _with_plan_settings(job: Job, plan: cost_plan.Plan) -> Job:
    """The job with the precision and threads that were planned for the first arm."""
    training = replace(job.spec.training, precision=plan.precision, threads=plan.threads)
    return replace(job, spec=replace(job.spec, training=training))
