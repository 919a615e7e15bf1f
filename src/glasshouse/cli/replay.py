"""`glasshouse replay`: look at the step that broke a run."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = "Example: glasshouse replay demo-lm --all"


def replay(
    run: Run,
    device: Device = "cpu",
    everything: Annotated[bool, typer.Option("--all", help="Show every module and gradient.")] = False,
) -> None:
    """Repeat the step whose loss or gradient was not finite, and show where that began."""
    import glasshouse
    from glasshouse.cli.tables import console, show

    replayed = glasshouse.replay(run, device)
    culprit, outputs = replayed.culprit, replayed.outputs
    position = outputs.index(culprit) if culprit else len(outputs)
    chosen = outputs if everything else outputs[max(0, position - 6) : position + 3]
    rows = [
        (
            f.module,
            f.kind,
            f"{f.largest:.3g}",
            f"{f.bad:,} of {f.total:,}" if f.bad else "none",
            "<-" if f is culprit else "",
        )
        for f in chosen
    ]
    console.print(f"step {replayed.step + 1}, loss {replayed.loss}")
    show(("module", "what", "largest finite", "not finite", ""), rows, right=(2, 3))
    where = f"it began in the {culprit.kind} of {culprit.module}" if culprit else "nothing was NaN or infinite this time"
    console.print(where, markup=False)
