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
    recipe: Annotated[str, typer.Argument(help="A recipe's name (see `glasshouse recipes`) or a spec's .toml file.")],
    overrides: Overrides = None,
    name: Annotated[str | None, typer.Option(help="The run's name; by default the recipe's.")] = None,
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would cost, and train nothing.")] = False,
) -> None:
    """Train a recipe, with any field of its spec changed by field=value."""
    import glasshouse
    from glasshouse.cli.cost import print_plan
    from glasshouse.cli.outcome import print_replicas, print_run

    if dry_run:
        print_plan(glasshouse.plan(recipe, *(overrides or ()), device=device))
    elif glasshouse.spec_of(recipe, *(overrides or ())).training.replicas > 1:
        print_replicas(glasshouse.train_replicas(recipe, *(overrides or ()), name=name, device=device))
    else:
        print_run(glasshouse.train(recipe, *(overrides or ()), name=name, device=device))
