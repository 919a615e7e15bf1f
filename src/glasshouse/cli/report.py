"""`glasshouse report`: write the HTML report of a run or a study."""

from glasshouse.cli.arguments import Device, RunOrStudy

EXAMPLES = "Examples: glasshouse report demo-lm · glasshouse report studies/demo-lm-position"


def report(name: RunOrStudy, device: Device = "auto") -> None:
    """Write the report.html of a run or a study again.

    The report of a run shows curves, samples, an attention map, the spec, the machine and the cost. The report of a study
    shows its verdicts, the differences between arms and the curve of every seed. A study also gets table.md, table.tex and
    comparison.json.
    """
    import glasshouse
    from glasshouse.cli.tables import shown

    print(shown(str(glasshouse.report(name, device)), raw=True))
