"""`glasshouse sbatch`: print a batch script for Slurm."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overrides
from glasshouse.cli.options import has_options
from glasshouse.launching.cluster_settings import Slurm

EXAMPLES = (
    "Examples: glasshouse sbatch demo-lm > job.sh, then sbatch job.sh · "
    "glasshouse sbatch language-model data.files=mine.txt --nodes 2 --gpus-per-node 4 --time 4:00:00 > job.sh · "
    "glasshouse sbatch --example > cluster.toml"
)


@has_options(Slurm, leave_out=("jobs", "dry_run"))
def sbatch(
    slurm: Slurm,
    recipe: Annotated[
        str | None, typer.Argument(help="The name of a recipe (see `glasshouse recipes`) or a .toml file with a spec.")
    ] = None,
    overrides: Overrides = None,
    name: Annotated[str | None, typer.Option(help="The name of the run; default: the name of the recipe.")] = None,
    device: Device = "auto",
    example: Annotated[bool, typer.Option("--example", help="Print an example of a cluster file instead.")] = False,
) -> None:
    """Print a batch script that trains a recipe, to read, edit and submit by hand. This machine needs no Slurm.

    The habits of the cluster are read from the cluster file; --example prints one with comments.
    """
    import glasshouse
    from glasshouse.api import jobs, submission

    if example:
        typer.echo(jobs.cluster_example(), nl=False)
        return
    if recipe is None:
        raise glasshouse.GlasshouseError("name a recipe, such as: glasshouse sbatch demo-lm > job.sh")
    script = submission.training_script(recipe, *(overrides or ()), name=name, device=device, on=slurm)
    typer.echo(script, nl=False)
