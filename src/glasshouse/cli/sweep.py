"""`glasshouse sweep`: train a recipe over ranges of hyper-parameters."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Alpha, Device, Margin, Match, Metric, Replicas, StudyName, Words

EXAMPLES = (
    "Examples: glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:8 training.weight_decay=0,0.1 --seeds 4 · "
    "glasshouse sweep demo-lm model.layers=1..6 model.dropout=0..0.5:lin:6 --seeds 2 --match flops"
)


def sweep(
    words: Words,
    seeds: Annotated[str, typer.Option(metavar="N|A,B,...", help="The number of seeds, or a list of seeds.")] = "4",
    metric: Metric = None,
    match: Match = "steps",
    margin: Margin = None,
    alpha: Alpha = 0.05,
    name: StudyName = None,
    device: Device = "auto",
    replicas: Replicas = "auto",
) -> None:
    """Train a recipe over ranges of values with several seeds each, and show the metric for each value.

    A range is written 1e-4..1e-2:log:8, 0..0.5:lin:6, 1..8 (whole numbers) or 1,2,4. Several fields make a grid. The arms
    are compared with the first arm and listed from best to worst.
    """
    import glasshouse
    from glasshouse.cli.study_output import print_study

    study = glasshouse.sweep(
        *words,
        seeds=seeds,
        metric=metric,
        match=match,
        margin=margin,
        alpha=alpha,
        name=name,
        device=device,
        replicas=replicas,
    )
    print_study(study)
