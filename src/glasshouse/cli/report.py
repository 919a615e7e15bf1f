"""`glasshouse report`: a run's page."""

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Example: glasshouse report demo-lm"


def report(run: Run, device: Device = "auto") -> None:
    """Write a run's report.html anew: curves, samples, an attention map, the spec, the machine, the cost."""
    from glasshouse import workbench

    print(workbench.report(run, device))
