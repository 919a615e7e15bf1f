"""`glasshouse replay`: find the module in which a training step became NaN or infinite."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Example: glasshouse replay demo-lm --all"


def replay(
    run: Run,
    device: Device = "cpu",
    everything: Annotated[
        bool, typer.Option("--all", help="Print every module and gradient, not only those around the first failure.")
    ] = False,
) -> None:
    """Repeat the step at which the loss or the gradient became NaN or infinite, and print the module that failed first."""
    from glasshouse.api import experiments
    from glasshouse.cli.tables import console, show

    replayed = experiments.replay(run, device)
    culprit, outputs = replayed.culprit, replayed.outputs
    position = outputs.index(culprit) if culprit else len(outputs)
    selected = outputs if everything else outputs[max(0, position - 6) : position + 3]
    rows = [
        (
            output.module,
            output.kind,
            f"{output.largest:.3g}",
            f"{output.bad:,} of {output.total:,}" if output.bad else "none",
            "<-" if output is culprit else "",
        )
        for output in selected
    ]
    console.print(f"step {replayed.step + 1}, loss {replayed.loss}")
    show(("module", "tensor", "largest finite", "not finite", ""), rows, right=(2, 3))
    if culprit:
        conclusion = f"the first value that is not finite is in the {culprit.kind} of {culprit.module}"
    else:
        conclusion = "no value was NaN or infinite in this repetition"
    console.print(conclusion, markup=False)
