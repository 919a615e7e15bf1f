"""`glasshouse compare`: did it matter?"""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Alpha, Device, Margin, Match, Metric, Replicas, StudyName, Words

EXAMPLES = (
    "Examples: glasshouse compare demo-lm model.position=learned,rotary,none --seeds 8 · "
    "glasshouse compare shakespeare model.attention=dot-product,additive --match time --metric validation.loss · "
    "glasshouse compare speech-lm speech-lm-best --seeds 3,5,9 --match flops · "
    "glasshouse compare demo-lm model.norm=layer,rms --until-decided --batch 4 --max-seeds 32 · "
    "glasshouse compare demo-lm model.activation=gelu,swiglu --tune training.learning_rate=2e-3,4e-3,8e-3"
)


def compare(
    words: Words,
    seeds: Annotated[
        str | None, typer.Option(metavar="N|A,B,...", help="How many seeds, or which; 8 unless told otherwise.")
    ] = None,
    metric: Metric = None,
    match: Match = "steps",
    tune: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD[=VALUES]",
            help="Give each arm its own best value first, chosen on the validation text; by default of a ladder by 3.",
        ),
    ] = None,
    until_decided: Annotated[
        bool, typer.Option("--until-decided", help="Add seeds in batches until every arm has a verdict.")
    ] = False,
    batch: Annotated[int | None, typer.Option(help="Seeds in a batch of --until-decided; 4 unless told otherwise.")] = None,
    max_seeds: Annotated[
        int | None, typer.Option(help="The most seeds of --until-decided; 32 unless told otherwise.")
    ] = None,
    margin: Margin = None,
    alpha: Alpha = 0.05,
    name: StudyName = None,
    device: Device = "auto",
    replicas: Replicas = "auto",
) -> None:
    """Train several arms with several seeds each, and say of each whether it is better than the first.

    A field with several values makes an arm of each; several such fields make a grid; so do several recipes. Arms are paired
    by seed. Each gets one verdict: better, worse, no difference larger than the margin, or undecided. The same command again
    goes on with a study that was stopped, and adds seeds to one that is done.
    """
    import glasshouse
    from glasshouse.cli.verdicts import print_study

    study = glasshouse.compare(
        *words,
        seeds=seeds,
        metric=metric,
        match=match,
        tune=tune,
        margin=margin,
        alpha=alpha,
        until_decided=until_decided,
        batch=batch,
        max_seeds=max_seeds,
        name=name,
        device=device,
        replicas=replicas,
    )
    print_study(study)
