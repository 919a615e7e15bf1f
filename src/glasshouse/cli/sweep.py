"""`glasshouse sweep`: train a recipe over ranges of hyper-parameters."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import (
    Alpha,
    Device,
    GpusPerNode,
    Jobs,
    Margin,
    Match,
    Metric,
    On,
    Partition,
    Replicas,
    ShowScript,
    StudyName,
    Time,
    Words,
)

EXAMPLES = (
    "Examples: glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:8 training.weight_decay=0,0.1 --seeds 4 · "
    "glasshouse sweep demo-lm model.layers=1..6 model.dropout=0..0.5:lin:6 --seeds 2 --match flops · "
    "glasshouse sweep demo-lm training.learning_rate=1e-4..1e-2:log:16 --on slurm --jobs 8"
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
    on: On = None,
    jobs: Jobs = None,
    gpus_per_node: GpusPerNode = None,
    time: Time = None,
    partition: Partition = None,
    dry_run: ShowScript = False,
) -> None:
    """Train a recipe over ranges of values with several seeds each, and show the metric for each value.

    A range is written 1e-4..1e-2:log:8, 0..0.5:lin:6, 1..8 (whole numbers) or 1,2,4. Several fields make a grid. The arms
    are compared with the first arm and listed by the values of the fields.
    """
    import glasshouse
    from glasshouse.cli.job_output import on_cluster
    from glasshouse.cli.study_output import print_study

    cluster = {"jobs": jobs, "gpus_per_node": gpus_per_node, "time": time, "partition": partition}
    with on_cluster(on, dry_run, **cluster):
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
