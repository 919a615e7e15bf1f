"""`glasshouse train`: train a recipe."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, On, Overrides
from glasshouse.cli.options import cluster, has_options
from glasshouse.launching.cluster_settings import Slurm

EXAMPLES = (
    "Examples: glasshouse train demo-lm model.position=learned training.steps=300 · "
    "glasshouse train language-model data.files=mine.txt · "
    "glasshouse train demo-lm lr=1e-3 batch_size=16 n_layer=2 · "
    "glasshouse train demo-lm training.replicas=8 · "
    "glasshouse train demo-lm --live · "
    "glasshouse train language-model 'data.files=[a.txt,b.jsonl.gz]' data.field=body --dry-run · "
    "glasshouse train language-model data.files=mine.txt --on slurm --nodes 2 --gpus-per-node 4 --time 4:00:00"
)


@has_options(Slurm, leave_out=("jobs", "dry_run"))
def train(
    slurm: Slurm,
    recipe: Annotated[
        str, typer.Argument(help="The name of a recipe (see `glasshouse recipes`) or a .toml file with a spec.")
    ],
    overrides: Overrides = None,
    name: Annotated[str | None, typer.Option(help="The name of the run; default: the name of the recipe.")] = None,
    device: Device = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Predict the cost and do not train; with --on slurm, print the script.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Serve the pages of all runs beside the training, and open them in a browser.")
    ] = False,
    on: On = None,
) -> None:
    """Train a recipe. Any field of its spec can be changed with FIELD=VALUE.

    With --on slurm a job trains it. The job saves at its time limit and goes on in the queue.
    """
    import glasshouse
    from glasshouse.api import pages, training
    from glasshouse.cli.job_output import print_submission
    from glasshouse.cli.plan_output import print_plan
    from glasshouse.cli.run_output import print_replicas, print_run

    where = cluster(on, slurm)
    if live and (on or dry_run):
        option = "--on slurm" if on else "--dry-run"
        raise glasshouse.GlasshouseError(
            f"--live shows a training on this machine, and {option} trains nothing here; leave one of them out"
        )
    if where:
        where = replace(where, dry_run=dry_run)
        print_submission(glasshouse.train(recipe, *(overrides or ()), name=name, device=device, on=where))
        return
    if dry_run:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
        return
    several = training.spec_of(recipe, *(overrides or ())).training.replicas > 1
    with pages.live_pages() if live else nullcontext():
        if several:
            print_replicas(training.train_replicas(recipe, *(overrides or ()), name=name, device=device))
        else:
            print_run(glasshouse.train(recipe, *(overrides or ()), name=name, device=device))
