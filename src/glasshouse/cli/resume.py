"""`glasshouse resume`: go on with an interrupted run."""

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Example: glasshouse resume demo-lm"


def resume(run: Run, device: Device = "auto") -> None:
    """Continue a run from its newest whole checkpoint; on the CPU the result is as if it had never stopped."""
    from glasshouse import workbench
    from glasshouse.cli.outcome import print_run

    print_run(workbench.resume(run, device))
