"""`glasshouse report`: the page of a run or a study."""

from glasshouse.cli.arguments import Device, RunOrStudy

EXAMPLES = "Examples: glasshouse report demo-lm · glasshouse report studies/demo-lm-position"


def report(name: RunOrStudy, device: Device = "auto") -> None:
    """Write a report.html anew.

    A run's has curves, samples, an attention map, the spec, the machine, the cost. A study's has its arms with their
    verdicts, every seed's curve and the differences; table.md, table.tex and comparison.json are written beside it.
    """
    import glasshouse

    print(glasshouse.report(name, device))
