"""`glasshouse resume`: continue an interrupted run or study."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, On, RunOrStudy
from glasshouse.cli.options import at_most, cluster, has_options
from glasshouse.launching.cluster_settings import Slurm

EXAMPLES = (
    "Examples: glasshouse resume demo-lm · glasshouse resume studies/demo-lm-position · "
    "glasshouse resume big-lm --processes 4 · glasshouse resume demo-lm --on slurm --time 1:00:00"
)


@has_options(Slurm, leave_out=("jobs", "dry_run"))
def resume(
    name: RunOrStudy,
    slurm: Slurm,
    device: Device = "auto",
    processes: Annotated[
        int | None,
        typer.Option(min=1, callback=at_most(65_536), metavar="N", help="Continue a run in another number of processes."),
    ] = None,
    task: Annotated[
        int | None,
        typer.Option(
            min=0, callback=at_most(10**6), help="Train this task of an array of jobs; NAME is then the folder of the jobs."
        ),
    ] = None,
    on: On = None,
) -> None:
    """Continue a run from its newest intact checkpoint, or a study with its remaining runs.

    On the CPU, a continued run has the same weights, bit for bit, as a run that was never interrupted. With --on slurm a job
    continues a run, and an array of jobs the runs of a study.
    """
    import glasshouse
    from glasshouse.api import submission
    from glasshouse.cli.run_output import print_run
    from glasshouse.cli.study_output import print_outcome

    where = cluster(on, slurm)
    if task is not None:
        submission.train_task(name, task, device)
        return
    resumed = glasshouse.resume(name, device, processes, where)
    if isinstance(resumed, glasshouse.Run):
        print_run(resumed)
    else:
        print_outcome(resumed)
