"""`glasshouse resume`: continue an interrupted run or study."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, RunOrStudy

EXAMPLES = (
    "Examples: glasshouse resume demo-lm · glasshouse resume studies/demo-lm-position · "
    "glasshouse resume big-lm --processes 4"
)


def resume(
    name: RunOrStudy,
    device: Device = "auto",
    processes: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Continue a run in another number of processes.")
    ] = None,
) -> None:
    """Continue a run from its newest intact checkpoint, or a study with its remaining runs.

    On the CPU, a continued run has the same weights, bit for bit, as a run that was never interrupted.
    """
    import glasshouse
    from glasshouse.cli.run_output import print_run
    from glasshouse.cli.study_output import print_study

    resumed = glasshouse.resume(name, device, processes)
    if isinstance(resumed, glasshouse.Run):
        print_run(resumed)
    else:
        print_study(resumed)
