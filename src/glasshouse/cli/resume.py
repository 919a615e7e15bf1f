"""`glasshouse resume`: go on with an interrupted run or study."""

from glasshouse.cli.arguments import Device, RunOrStudy

EXAMPLES = "Examples: glasshouse resume demo-lm · glasshouse resume studies/demo-lm-position"


def resume(name: RunOrStudy, device: Device = "auto") -> None:
    """Continue a run from its newest whole checkpoint, or a study with the runs that are left.

    On the CPU the result is as if it had never stopped.
    """
    import glasshouse
    from glasshouse.cli.outcome import print_run
    from glasshouse.cli.verdicts import print_study

    resumed = glasshouse.resume(name, device)
    if isinstance(resumed, glasshouse.Run):
        print_run(resumed)
    else:
        print_study(resumed)
