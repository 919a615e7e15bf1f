"""`glasshouse resume`: continue an interrupted run or study."""

from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, GpusPerNode, Nodes, On, Partition, RunOrStudy, Time

EXAMPLES = (
    "Examples: glasshouse resume demo-lm · glasshouse resume studies/demo-lm-position · "
    "glasshouse resume big-lm --processes 4 · glasshouse resume demo-lm --on slurm --time 1:00:00"
)


def resume(
    name: RunOrStudy,
    device: Device = "auto",
    processes: Annotated[
        int | None, typer.Option(min=1, max=65_536, metavar="N", help="Continue a run in another number of processes.")
    ] = None,
    task: Annotated[
        int | None,
        typer.Option(min=0, max=10**6, help="Train this task of an array of jobs; NAME is then the folder of the jobs."),
    ] = None,
    on: On = None,
    nodes: Nodes = None,
    gpus_per_node: GpusPerNode = None,
    time: Time = None,
    partition: Partition = None,
) -> None:
    """Continue a run from its newest intact checkpoint, or a study with its remaining runs.

    On the CPU, a continued run has the same weights, bit for bit, as a run that was never interrupted. With --on slurm a job
    continues a run, and an array of jobs the runs of a study.
    """
    import glasshouse
    from glasshouse.cli.job_output import print_submission, refuse_cluster_options
    from glasshouse.cli.run_output import print_run
    from glasshouse.cli.study_output import print_study

    cluster: dict[str, Any] = {"nodes": nodes, "gpus_per_node": gpus_per_node, "time": time, "partition": partition}
    if on:
        print_submission(glasshouse.submit_resume(name, device, **cluster))
        return
    refuse_cluster_options(**cluster)
    if task is not None:
        glasshouse.train_task(name, task, device)
        return
    resumed = glasshouse.resume(name, device, processes)
    if isinstance(resumed, glasshouse.Run):
        print_run(resumed)
    else:
        print_study(resumed)
