"""`glasshouse compare`: compare variants of a model or a training with statistical tests."""

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
)

EXAMPLES = (
    "Examples: glasshouse compare demo-lm model.position=learned,rotary,none --seeds 8 · "
    "glasshouse compare shakespeare model.attention=dot-product,additive --match time --metric validation.loss · "
    "glasshouse compare speech-lm speech-lm-best --seeds 3,5,9 --match flops · "
    "glasshouse compare demo-lm model.norm=layer,rms --until-decided --batch 4 --max-seeds 32 · "
    "glasshouse compare demo-lm model.activation=gelu,swiglu --tune training.learning_rate=2e-3,4e-3,8e-3 · "
    "glasshouse compare presidents model.norm=layer,rms --metric test.accuracy --items --register --name norms · "
    "glasshouse compare --replicate norms · "
    "glasshouse compare demo-lm model.position=learned,rotary --multiverse · "
    "glasshouse compare demo-lm model.position=learned,rotary,none --all-pairs · "
    "glasshouse compare demo-lm model.norm=layer,rms --seeds 32 --on slurm --time 2:00:00"
)


def compare(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE... FIELD=VALUES...",
            help="Recipes and changes to them: model.norm=layer,rms makes an arm per value, model.width=64 applies to all "
            "arms. None with --replicate.",
        ),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|A,B,...", help="The number of seeds, or a list of seeds; default: 8.")
    ] = None,
    metric: Metric = None,
    match: Match = "steps",
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD[=VALUES]",
            help="Tune this field for each arm first, on the validation split; default: the arm's value times powers of 3.",
        ),
    ] = None,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="Add seeds in batches until every arm has a verdict.")
    ] = False,
    batch: Annotated[
        int | None, typer.Option(max=10_000, help="The number of seeds that --until-decided adds at a time; default: 4.")
    ] = None,
    max_seeds: Annotated[
        int | None, typer.Option(max=10_000, help="The largest number of seeds of --until-decided; default: 32.")
    ] = None,
    items: Annotated[
        bool,
        typer.Option("--items", help="Treat the texts, pairs or windows of text of the evaluation as a sample too."),
    ] = False,
    register: Annotated[
        bool, typer.Option("--register", help="Record a digest of the plan before the first run, and hold the study to it.")
    ] = False,
    replicate: Annotated[
        str | None,
        typer.Option(metavar="STUDY", help="Ask the question of this study again, with seeds that it has not used."),
    ] = None,
    multiverse: Annotated[
        bool,
        typer.Option(
            "--multiverse", help="Also judge with tuned and reported learning rates, other initialisations and both splits."
        ),
    ] = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Also judge every pair of arms, corrected for that many comparisons.")
    ] = False,
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
    """Train several arms with several seeds each, and test whether each arm differs from the first.

    A field with several values makes one arm per value. Several fields with several values make a grid, and so do several
    recipes. Arms are paired by seed. The verdict of an arm is better, worse, no difference larger than the margin, or
    undecided. The same command continues an interrupted study, and with more seeds it extends a finished one.

    --items makes a verdict one about the population that the items of the evaluation come from. A study with --register
    takes no seeds that it did not plan; --replicate asks its question again. --multiverse trains more studies, says how many
    runs they have before it starts, and shows in which of them the verdict holds. --all-pairs answers for the other arms
    among themselves too; the verdicts against the first arm stay the same.

    With --on slurm the jobs of an array train the runs, and a last job repeats the command to judge the study.
    """
    import glasshouse
    from glasshouse.cli.job_output import on_cluster
    from glasshouse.cli.study_output import print_study

    cluster = {"jobs": jobs, "gpus_per_node": gpus_per_node, "time": time, "partition": partition}
    with on_cluster(on, dry_run, **cluster):
        study = glasshouse.compare(
            *(words or ()),
            seeds=seeds,
            metric=metric,
            match=match,
            tune=tune,
            margin=margin,
            alpha=alpha,
            until_decided=until_decided,
            batch=batch,
            max_seeds=max_seeds,
            items=items,
            register=register,
            replicate=replicate,
            multiverse=multiverse,
            all_pairs=all_pairs,
            name=name,
            device=device,
            replicas=replicas,
        )
        print_study(study)
