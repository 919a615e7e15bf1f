"""`glasshouse cancel`: cancel jobs."""

from typing import Annotated

import typer

EXAMPLES = "Examples: glasshouse cancel demo-lm · glasshouse cancel studies/demo-lm-position · glasshouse cancel 4711"


def cancel(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A run, a study or a text that was submitted, a job of `glasshouse jobs`, or its number."
        ),
    ],
) -> None:
    """Cancel the jobs of a run, a study or a text. What runs saves first; the same command continues it later."""
    from glasshouse.api import jobs
    from glasshouse.cli.tables import console

    for job in jobs.cancel(name):
        console.print(f"cancelled job {job.id} ({job.job})", markup=False)
