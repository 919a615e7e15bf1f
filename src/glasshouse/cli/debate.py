"""`glasshouse debate`: models argue for and against a topic, and what they say is measured."""

from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse debate "self-driving cars" --models run:demo-lm,run:stories · '
    'glasshouse debate "self-driving cars" --models small,large --judge large --rounds 3 · '
    'glasshouse debate "canards on a stealth fighter" --models small,large --temperatures 0.2,0.7,1.2 --output canards'
)


def debate(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="What to argue for and against.")],
    models: Annotated[
        str, typer.Option(metavar="A,B", help="The models, separated by commas: run:NAME, or from llms.toml.")
    ],
    points: Annotated[
        int, typer.Option(callback=at_most(1000), help="The number of points for, and against, in each round.")
    ] = 3,
    rounds: Annotated[
        int, typer.Option(callback=at_most(1000), help="From round 2 on a model answers the last argument of the next one.")
    ] = 2,
    judge: Annotated[
        str | None, typer.Option(metavar="C", help="A model that says which of two arguments is better.")
    ] = None,
    temperature: Annotated[float, typer.Option(help="The temperature of sampling; 0 is greedy decoding.")] = 0.7,
    temperatures: Annotated[
        str | None, typer.Option(metavar="T,T", help="Hold the debate at each of these temperatures instead.")
    ] = None,
    seed: Annotated[int, typer.Option(callback=at_most(2**63 - 1), help="The random seed.")] = 0,
    max_tokens: Annotated[int, typer.Option(callback=at_most(10**6), help="The maximum number of tokens of a point.")] = 160,
    entailment: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="An entailment model that finds contradictions; default: a rough stand-in."),
    ] = None,
    encoder: Annotated[
        str | None, typer.Option(metavar="RUN", help="An encoder whose embeddings compare points with the topic.")
    ] = None,
    control_topic: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help='Another topic, to see what points on different things share; "" for none.'),
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Default: debates/TOPIC.")] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The list of models; default: llms.toml in the current folder.")
    ] = None,
    device: Device = "auto",
) -> None:
    """Let models argue for and against a topic, and measure how they repeat and contradict themselves and drift off it.

    A killed debate continues with the same command. A judge, an entailment model or an encoder can be added to a debate.
    """
    from glasshouse.api import debates
    from glasshouse.cli.tables import console, show

    result = debates.debate(
        topic,
        models,
        points,
        rounds,
        judge,
        temperature,
        temperatures,
        seed,
        output,
        config,
        entailment,
        encoder,
        control_topic,
        max_tokens,
        device,
    )
    columns, rows = result.table
    show(columns, rows, right=range(1, len(columns)))
    for line in result.remarks:
        console.print(line, markup=False, emoji=False, soft_wrap=True)
    console.print(f"page  {result.page}", markup=False, emoji=False, soft_wrap=True)
