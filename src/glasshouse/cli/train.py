"""`glasshouse train`: train a recipe."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Overrides

EXAMPLES = (
    "Examples: glasshouse train demo-lm model.position=learned training.steps=300 · "
    "glasshouse train language-model data.files=mine.txt · "
    "glasshouse train demo-lm training.replicas=8 · "
    "glasshouse train language-model 'data.files=[a.txt,b.jsonl.gz]' data.field=body --dry-run"
)


def train(
    recipe: Annotated[
        str, typer.Argument(help="The name of a recipe (see `glasshouse recipes`) or a .toml file with a spec.")
    ],
    overrides: Overrides = None,
    name: Annotated[str | None, typer.Option(help="The name of the run; default: the name of the recipe.")] = None,
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Predict the cost and do not train.")] = False,
) -> None:
    """Train a recipe. Any field of its spec can be changed with FIELD=VALUE."""
    import glasshouse
    from glasshouse.cli.plan_output import print_plan
    from glasshouse.cli.run_output import print_replicas, print_run

    if dry_run:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
    elif glasshouse.spec_of(recipe, *(overrides or ())).training.replicas > 1:
        print_replicas(glasshouse.train_replicas(recipe, *(overrides or ()), name=name, device=device))
    else:
        print_run(glasshouse.train(recipe, *(overrides or ()), name=name, device=device))
