"""Have a run trained by a job of a Slurm cluster; write its script; train one task of an array of jobs."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from glasshouse.data import prepared_data
from glasshouse.launching import batch_script, job_folder, submission
from glasshouse.launching.batch_script import JobRequest
from glasshouse.launching.cluster_settings import ClusterSettings, Slurm
from glasshouse.launching.submission import Submission
from glasshouse.records import run_folder
from glasshouse.runs import resolve_spec
from glasshouse.specs.errors import LaunchError
from glasshouse.specs.spec import Spec
from glasshouse.studies import run_queue
from glasshouse.training import devices
from glasshouse.training.job import check as check_spec


def submit_training(recipe: str, *overrides: str, name: str | None, device: str, on: Slurm) -> Submission:
    """Submit the training of a recipe. The run folder is created here; a job trains it with `glasshouse resume`."""
    settings = submission.checked(on)
    spec = _checked_spec(recipe, overrides, device, settings)
    settings = _with_processes(settings, spec)
    submission.check(settings, on.dry_run)
    if on.dry_run:
        name = name or run_folder.free_name(resolve_spec.name_of(recipe))
        return _submitted(run_folder.root() / run_folder.checked_name(name), device, settings, dry_run=True)
    run = run_folder.create(spec, name, resolve_spec.name_of(recipe))
    try:
        return _submitted(run.path, device, settings)
    except LaunchError:
        run.delete_if_new()
        raise


def submit_resume(name: str | PathLike[str], device: str, on: Slurm) -> Submission:
    """Submit a job that continues a run."""
    check_device(device)
    settings, run = submission.checked(on), run_folder.find(name)
    settings = _with_processes(settings, run.spec())
    submission.check(settings, on.dry_run)
    return _submitted(run.path, device, settings, on.dry_run)


def _submitted(run: Path, device: str, settings: ClusterSettings, dry_run: bool = False) -> Submission:
    where = [] if device == "auto" else ["--device", device]
    path, submitted = str(run.absolute()), Submission()
    submitted.add(JobRequest(run.name, job_folder.RUN, path, ["resume", path, *where]), settings, dry_run)
    return submitted


def training_script(
    recipe: str, *overrides: str, name: str | None = None, device: str = "auto", on: Slurm | None = None
) -> str:
    """A batch script that trains a recipe, to read, edit and submit by hand with sbatch. Needs no Slurm here."""
    settings = (on or Slurm()).settings()
    spec = _checked_spec(recipe, overrides, device, settings)
    settings = _with_processes(settings, spec)
    name = run_folder.checked_name(run_folder.free_name(resolve_spec.name_of(recipe)) if name is None else name)
    run = run_folder.root() / name
    where = [] if device == "auto" else ["--device", device]
    first = ["train", recipe, *overrides, "--name", name, *where]
    job = JobRequest(name, job_folder.RUN, str(run), ["resume", str(run), *where], first=first)
    return batch_script.render(job, settings)


def train_task(job: str | PathLike[str], task: int, device: str = "auto") -> None:
    """Train the runs of one task of an array. The script of an array calls this."""
    folder = job_folder.find(job)
    tasks = folder.tasks()
    if not 0 <= task < len(tasks):
        raise LaunchError(f"is no task of {folder.path}, which has {len(tasks)}; choose 0 to {len(tasks) - 1}", "task", task)
    devices.pick(device)
    run_queue.train_task(tasks[task], device, f"{folder.name}, task {task}")


def _with_processes(settings: ClusterSettings, spec: Spec) -> ClusterSettings:
    """The settings with the processes that a spec asks for, if they do not name a number themselves."""
    several = settings.processes == 1 and spec.training.processes > 1
    return settings.changed(processes_per_node=spec.training.processes) if several else settings


def _checked_spec(recipe: str, overrides: Sequence[str], device: str, settings: ClusterSettings) -> Spec:
    """The spec of a recipe. Everything is checked that needs no more than the beginning of the data."""
    check_device(device)
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


def check_device(device: str) -> None:
    """Refuse an unknown device. Whether the compute node has it is not known here."""
    if device.split(":")[0] not in devices.DEVICES:
        devices.pick(device)
