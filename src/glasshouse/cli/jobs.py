"""`glasshouse jobs`: the jobs that were submitted to a cluster."""

import time
from typing import Annotated

import typer

from glasshouse.cli.options import at_most

EXAMPLES = "Examples: glasshouse jobs · glasshouse jobs --watch · glasshouse jobs --active"


def jobs(
    watch: Annotated[bool, typer.Option("--watch", help="Show the list again and again until all jobs have ended.")] = False,
    active: Annotated[bool, typer.Option("--active", help="Show only the jobs that have not ended.")] = False,
    every: Annotated[
        float, typer.Option(min=0.1, callback=at_most(86_400), help="The seconds between two lists of --watch.")
    ] = 10.0,
) -> None:
    """List the jobs that were submitted with --on slurm: state, progress, time to the limit, log.

    Of a job that failed the last error in its log is shown. Slurm forgets a job some minutes after its end. The job folder
    then still tells how it ended.
    """
    from glasshouse.api import jobs
    from glasshouse.cli.job_output import print_jobs
    from glasshouse.cli.tables import console

    while True:
        found = jobs.jobs()
        if not found:
            example = "glasshouse train demo-lm --on slurm"
            console.print(f"There are no jobs in {jobs.jobs_folder()} yet. Begin with: {example}", soft_wrap=True)
            return
        if watch and console.is_terminal:
            console.clear()
        print_jobs([job for job in found if job.active or not active])
        if not watch or not any(job.active for job in found):
            return
        time.sleep(every)
