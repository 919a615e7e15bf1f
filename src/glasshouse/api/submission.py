"""Public functions that have work done by the jobs of a Slurm cluster: one run, or the runs of a study."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from glasshouse.data import prepared_data
from glasshouse.launching import batch_script, cluster_settings, job_folder, slurm, submission
from glasshouse.launching.batch_script import BatchJob
from glasshouse.launching.cluster_settings import ClusterSettings
from glasshouse.launching.job_folder import JobFolder
from glasshouse.launching.submission import JobRequest
from glasshouse.records import progress_bar, run_folder
from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import LaunchError
from glasshouse.specs.spec import Spec
from glasshouse.studies import run_queue, study_folder, study_runner
from glasshouse.studies.run_queue import RunTask
from glasshouse.training import devices
from glasshouse.training.job import check as check_spec

# Slurm's default MaxArraySize is 1001.
MOST_TASKS = 1000


@dataclass
class Submission:
    """What was submitted: the jobs, or after a dry run their scripts. Both are empty if the work was done here."""

    jobs: list[JobFolder] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)

    def add(self, request: JobRequest, settings: ClusterSettings, dry_run: bool, after: int = 0) -> int:
        """Submit a job and return its number; in a dry run, make its script. What is in the queue already is refused."""
        if dry_run:
            folder = job_folder.next_path(request.name, len(self.scripts))
            self.scripts.append(submission.script_of(request, settings, folder))
            return 0
        if not after:
            submission.refuse_second(request)
        job = submission.submit(request, settings, after)
        self.jobs.append(job)
        return job.record().id


def submit_training(
    recipe: str, *overrides: str, name: str | None = None, device: str = "auto", dry_run: bool = False, **cluster: Any
) -> Submission:
    """Submit the training of a recipe to Slurm. The run folder is created here; a job trains it with `glasshouse resume`.

    `cluster` are settings that differ from the cluster file: partition, account, time, nodes, gpus_per_node, ... With
    `dry_run` the script is made, and nothing is created or submitted.
    """
    settings = checked_settings(dry_run, cluster)
    spec = _checked_spec(recipe, overrides, device, settings)
    settings = _checked(_with_processes(settings, spec), dry_run)
    if dry_run:
        name = name or run_folder.free_name(resolve_spec.name_of(recipe))
        request = _run_request(run_folder.root() / run_folder.checked_name(name), device)
        return Submission(scripts=[submission.script_of(request, settings, job_folder.next_path(request.name))])
    run = run_folder.create(spec, name, resolve_spec.name_of(recipe))
    try:
        return Submission(jobs=[submission.submit(_run_request(run.path, device), settings)])
    except LaunchError:
        run.delete_if_new()
        raise


def submit_resume(name: str | PathLike[str], device: str = "auto", dry_run: bool = False, **cluster: Any) -> Submission:
    """Submit a job that continues a run, or the jobs of a study. The options are those of `submit_training`."""
    _check_device(device)
    if study := study_folder.find_unambiguous(name):
        given = [(option, value) for option, value in {"device": device, **cluster}.items() if value is not None]
        words = [word for option, value in given for word in (f"--{option.replace('_', '-')}", str(value))]
        command = ["resume", str(study.path.absolute()), "--on", "slurm", *words]
        with on_slurm(command, dry_run=dry_run, **cluster) as submitted:
            study_runner.continue_study(study, device)
        return submitted
    settings = checked_settings(dry_run, cluster)
    run = run_folder.find(name)
    settings = _checked(_with_processes(settings, run.spec()), dry_run)
    request = _run_request(run.path, device)
    if dry_run:
        return Submission(scripts=[submission.script_of(request, settings, job_folder.next_path(request.name))])
    submission.refuse_second(request)
    return Submission(jobs=[submission.submit(request, settings)])


def training_script(recipe: str, *overrides: str, name: str | None = None, device: str = "auto", **cluster: Any) -> str:
    """A batch script that trains a recipe, to read, edit and submit by hand with sbatch. Needs no Slurm here."""
    settings = cluster_settings.load(**cluster)
    spec = _checked_spec(recipe, overrides, device, settings)
    settings = _with_processes(settings, spec)
    name = run_folder.checked_name(run_folder.free_name(resolve_spec.name_of(recipe)) if name is None else name)
    run = run_folder.root() / name
    where = [] if device == "auto" else ["--device", device]
    job = BatchJob(
        name=name,
        arguments=["resume", str(run), *where],
        first=["train", recipe, *overrides, "--name", name, *where],
        until=str(run),
        environment=batch_script.folders_in_use(),
    )
    return batch_script.render(job, settings)


@contextmanager
def on_slurm(command: Sequence[str], dry_run: bool = False, **cluster: Any) -> Iterator[Submission]:
    """Within the block, the runs of studies are trained by the jobs of an array. The block ends when they are submitted.

    `command` are the words after `glasshouse` that do the same as the block. A last job repeats the command when the runs
    have ended: it finishes the study, or submits the next runs if those depend on the first. Steps are timed to plan a
    study; if the jobs have GPUs and this machine has none, the first job plans it. A claim is measured by jobs alone.
    """
    settings = checked_settings(dry_run, cluster, single_process=True)
    submitted = Submission()
    dispatch = _SlurmDispatch(list(command), settings, submitted, dry_run)
    try:
        with run_queue.trained_elsewhere(dispatch):
            yield submitted
    except _HandedOver:
        pass


def train_task(job: str | PathLike[str], task: int, device: str = "auto") -> None:
    """Train the runs of one task of an array. The script of an array calls this."""
    folder = job_folder.find(job)
    tasks = folder.tasks()
    if not 0 <= task < len(tasks):
        raise LaunchError(f"is no task of {folder.path}, which has {len(tasks)}; choose 0 to {len(tasks) - 1}", "task", task)
    devices.pick(device)
    run_queue.train_task(tasks[task], device, f"{folder.name}, task {task}")


class _HandedOver(Exception):
    """The work was submitted; nothing is left to do here."""


@dataclass
class _SlurmDispatch:
    """Gives the runs of studies to an array of jobs, and repeats the command in a job after them."""

    command: list[str]
    settings: ClusterSettings
    submitted: Submission
    dry_run: bool
    name: str = ""  # of the jobs; by default that of their study

    def plan(self, study: str) -> None:
        """Have the study planned in a job, if the jobs have another device than this machine."""
        if self.settings.gpus_per_node and devices.pick("auto").type == "cpu":
            self.measure(study)

    def measure(self, name: str) -> None:
        """Submit the command itself, unless this is its job. All later jobs have the same name."""
        self.name = name
        if job_folder.inside():
            return
        self._submit(JobRequest(name, job_folder.COMMAND, "", self.command))
        raise _HandedOver

    def train(self, folder: Path, tasks: list[RunTask]) -> None:
        if job_folder.inside():
            if len(tasks) == 1:
                return
            if not slurm.is_installed():
                progress_bar.say("this job cannot submit others, because it has no sbatch on its path; it trains all runs")
                return
        name, work = self.name or folder.name, str(folder.absolute())
        divided = _divided(tasks, self.settings.jobs)
        written = [[] for _ in divided] if self.dry_run else [run_queue.write_task(task) for task in divided]
        arguments = ["resume", "{job}", *_device_option(self.command)]
        runs = self._submit(JobRequest(name, job_folder.RUNS, work, arguments, written))
        self._submit(JobRequest(name, job_folder.COMMAND, work, self.command), runs)
        raise _HandedOver

    def _submit(self, request: JobRequest, after: int = 0) -> int:
        return self.submitted.add(request, self.settings, self.dry_run, after)


def _divided(tasks: Sequence[RunTask], jobs: int) -> list[RunTask]:
    """The tasks, put together into at most so many; 0: as many as an array of Slurm usually may have."""
    most = min(jobs or MOST_TASKS, len(tasks))
    return [[group for task in tasks[first::most] for group in task] for first in range(most)]


def _device_option(command: Sequence[str]) -> list[str]:
    """The option --device of a command."""
    for index, word in enumerate(command):
        if word == "--device" and index + 1 < len(command):
            return ["--device", command[index + 1]]
        if word.startswith("--device="):
            return [word]
    return []


def checked_settings(dry_run: bool, cluster: dict[str, Any], single_process: bool = False) -> ClusterSettings:
    """The settings of the cluster; refused if the cluster cannot run them. A dry run and a job can do without Slurm."""
    settings = cluster_settings.load(**cluster)
    if single_process:
        settings = settings.for_single_process()
    return _checked(settings, dry_run)


def _checked(settings: ClusterSettings, dry_run: bool) -> ClusterSettings:
    """The settings, unless the cluster cannot run them."""
    if slurm.is_installed() or not (dry_run or job_folder.inside()):
        slurm.check(settings)
    return settings


def _with_processes(settings: ClusterSettings, spec: Spec) -> ClusterSettings:
    """The settings with the processes that a spec asks for, if they do not name a number themselves."""
    several = settings.processes == 1 and spec.training.processes > 1
    return settings.changed(processes_per_node=spec.training.processes) if several else settings


def _checked_spec(recipe: str, overrides: Sequence[str], device: str, settings: ClusterSettings) -> Spec:
    """The spec of a recipe. Everything is checked that needs no more than the beginning of the data."""
    _check_device(device)
    processes = [f"training.processes={settings.processes}"] if settings.processes > 1 else []
    spec = resolve_spec.run_spec(recipe, *overrides, *processes)
    if spec.training.replicas > 1:
        raise LaunchError(
            "trains several runs, and a job of `train` trains one; compare seeds with: glasshouse compare RECIPE "
            "--seeds N --on slurm",
            "training.replicas",
            spec.training.replicas,
        )
    task = check_spec(spec)
    # The first text is read, so that a file that is not there is refused here. A job reads the others.
    next(prepared_data.find_source(spec.data, task.columns).documents("train"), None)
    return spec


def _check_device(device: str) -> None:
    """Refuse an unknown device. Whether the compute node has it is not known here."""
    if device.split(":")[0] not in devices.DEVICES:
        devices.pick(device)


def _run_request(run: Path, device: str) -> JobRequest:
    where = [] if device == "auto" else ["--device", device]
    return JobRequest(run.name, job_folder.RUN, str(run.absolute()), ["resume", str(run.absolute()), *where])
