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
    spec, settings = _planned(recipe, overrides, device, on)
    submission.check(settings, on.dry_run)
    usual_name = resolve_spec.name_of(recipe)
    if on.dry_run:
        run_name = run_folder.checked_name(name or run_folder.free_name(usual_name))
        return _submitted(_request((run_folder.root() / run_name).absolute(), device), settings, dry_run=True)
    run = run_folder.create(spec, name, usual_name)
    try:
        return _submitted(_request(run.path.absolute(), device), settings)
    except LaunchError:
        run.delete_if_new()
        raise


def submit_resume(name: str | PathLike[str], device: str, on: Slurm) -> Submission:
    """Submit a job that continues a run."""
    check_device(device)
    run = run_folder.find(name)
    settings = _with_processes(on.settings(), run.spec())
    submission.check(settings, on.dry_run)
    return _submitted(_request(run.path.absolute(), device), settings, on.dry_run)


def training_script(
    recipe: str, *overrides: str, name: str | None = None, device: str = "auto", on: Slurm | None = None
) -> str:
    """A batch script that trains a recipe, to read, edit and submit by hand with sbatch. Needs no Slurm here."""
    _, settings = _planned(recipe, overrides, device, on or Slurm())
    name = run_folder.checked_name(run_folder.free_name(resolve_spec.name_of(recipe)) if name is None else name)
    first = ["train", recipe, *overrides, "--name", name]
    return batch_script.render(_request(run_folder.root() / name, device, first), settings)


def _request(run: Path, device: str, first: Sequence[str] = ()) -> JobRequest:
    """The job that continues a run. Where the run does not exist yet, it begins with the command `first`."""
    where = [] if device == "auto" else ["--device", device]
    return JobRequest(
        run.name, job_folder.RUN, str(run), ["resume", str(run), *where], first=[*first, *where] if first else ()
    )


def _submitted(request: JobRequest, settings: ClusterSettings, dry_run: bool = False) -> Submission:
    submitted = Submission()
    submitted.add(request, settings, dry_run)
    return submitted


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


def _planned(recipe: str, overrides: Sequence[str], device: str, on: Slurm) -> tuple[Spec, ClusterSettings]:
    """The spec of a recipe, and what its job asks for. All is checked that needs no more than the beginning of the data."""
    check_device(device)
    settings = on.settings()
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
    return spec, _with_processes(settings, spec)


def check_device(device: str) -> None:
    """Refuse an unknown device. Whether the compute node has it is not known here."""
    if device.split(":")[0] not in devices.DEVICES:
        devices.pick(device)
