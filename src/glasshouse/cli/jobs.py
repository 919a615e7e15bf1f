"""Jobs on a cluster: print what was submitted, list and cancel jobs, print a batch script."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

import glasshouse
from glasshouse.cli.options import Device, Overrides, RunName, argument, has_options, option
from glasshouse.cli.tables import console, show
from glasshouse.launching.cluster_settings import Slurm

if TYPE_CHECKING:
    from glasshouse.launching.submission import Submission


def print_submission(submitted: "Submission") -> None:
    """Print the jobs and what to do next, or the scripts of a dry run."""
    for script in submitted.scripts:
        console.print(script)
    for job in submitted.jobs:
        record = job.record()
        tasks = f", {record.tasks} tasks" if record.tasks else ""
        after = f", after job {record.after}" if record.after else ""
        console.print(f"job {record.id}{tasks}{after}: {job.script}")
    if not submitted.jobs and not submitted.scripts:
        console.print("nothing is left to submit: the work is done")
    if submitted.jobs:
        name = submitted.jobs[0].record().name
        console.print(f"follow it with `glasshouse jobs`; stop it with `glasshouse cancel {name}`")


def jobs(
    watch: Annotated[bool, option("Show the list again and again until all jobs have ended.", "--watch")] = False,
    active: Annotated[bool, option("Show only the jobs that have not ended.", "--active")] = False,
    every: Annotated[float, option("The seconds between two lists of --watch.", low=0.1, high=86400)] = 10.0,
) -> None:
    """List the jobs that were submitted with --on slurm: state, progress, time to the limit, log.

    Of a job that failed the last error in its log is shown. Slurm forgets a job some minutes after its end. The job folder
    then still tells how it ended.

    Examples:
        glasshouse jobs
        glasshouse jobs --watch
        glasshouse jobs --active
    """
    from glasshouse.api import jobs

    folder = jobs.jobs_folder()
    while True:
        found = jobs.jobs()
        if not found:
            example = "glasshouse train demo-lm --on slurm"
            console.print(f"There are no jobs in {folder} yet. Begin with: {example}")
            return
        if watch and console.is_terminal:
            console.clear()
        listed = [job for job in found if job.active or not active]
        rows = [(job.job, str(job.id), job.state, job.progress, job.left) for job in listed]
        show(("job", "number", "state", "progress", "time left"), rows)
        for job in listed:
            if job.error:
                console.print(f"{job.job}: {job.error}")
            if job.active or job.error:
                inside = job.log.is_relative_to(folder.absolute())
                log = folder / job.log.relative_to(folder.absolute()) if inside else job.log
                console.print(f"{job.job}: the log is {log}")
        if not watch or not any(job.active for job in found):
            return
        time.sleep(every)


def cancel(
    name: Annotated[
        str, argument("A run, a study or a text that was submitted, a job of `glasshouse jobs`, or its number.", "NAME")
    ],
) -> None:
    """Cancel the jobs of a run, a study or a text. What runs saves first; the same command continues it later.

    Examples:
        glasshouse cancel demo-lm
        glasshouse cancel studies/demo-lm-position
        glasshouse cancel 4711
    """
    from glasshouse.api import jobs

    for job in jobs.cancel(name):
        console.print(f"cancelled job {job.id} ({job.job})")


@has_options(Slurm, leave_out=("jobs", "dry_run"))
def sbatch(
    slurm: Slurm,
    recipe: Annotated[
        str | None, argument("The name of a recipe (see `glasshouse recipes`) or a .toml file with a spec.")
    ] = None,
    overrides: Overrides = None,
    name: RunName = None,
    device: Device = "auto",
    example: Annotated[bool, option("Print an example of a cluster file instead.", "--example")] = False,
) -> None:
    """Print a batch script that trains a recipe, to read, edit and submit by hand. This machine needs no Slurm.

    The habits of the cluster are read from the cluster file; --example prints one with comments.

    Examples:
        glasshouse sbatch demo-lm > job.sh, then sbatch job.sh
        glasshouse sbatch language-model data.files=mine.txt --nodes 2 --gpus-per-node 4 --time 4:00:00 > job.sh
        glasshouse sbatch --example > cluster.toml
    """
    from glasshouse.api import jobs, submission

    if example:
        typer.echo(jobs.cluster_example(), nl=False)
        return
    if recipe is None:
        raise glasshouse.GlasshouseError("name a recipe, such as: glasshouse sbatch demo-lm > job.sh")
    script = submission.training_script(recipe, *(overrides or ()), name=name, device=device, on=slurm)
    typer.echo(script, nl=False)
