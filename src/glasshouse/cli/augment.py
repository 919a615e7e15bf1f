"""`glasshouse augment`: enlarge a labelled data set with paraphrases by a masked-token run."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse augment masked-model mine.tsv --output more.tsv · "
    "glasshouse augment masked-model lines.txt --output more.txt --copies 5 --share 0.3 --temperature 0.7"
)


def augment(
    run: Run,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of labelled rows (.tsv, .csv, .jsonl) or of plain lines.")
    ],
    output: Annotated[Path, typer.Option(help="The file to write, .tsv for labelled rows; it must not exist.")],
    copies: Annotated[int, typer.Option(callback=at_most(1000), help="The number of paraphrases per row.")] = 2,
    share: Annotated[float, typer.Option(help="The share of a text's tokens to mask and sample again.")] = 0.15,
    temperature: Annotated[float, typer.Option(help="The sampling temperature; 0 takes the most likely token.")] = 1.0,
    seed: Annotated[
        int, typer.Option(callback=at_most(2**63 - 1), help="The random seed; the same seed gives the same file.")
    ] = 0,
    field: Annotated[str, typer.Option(help="The field of a .csv or .jsonl row that holds the text.")] = "text",
    label: Annotated[str, typer.Option(help="The field of a row that holds the class.")] = "label",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Write the rows of a file with paraphrases, in which a masked-token run has replaced some tokens.

    A paraphrase keeps the label of its row; the run does not use the label. Split off test rows before this command, not
    after: if a row is in the training split and its paraphrase in the test split, that is data leakage.
    """
    from glasshouse.api import experiments
    from glasshouse.cli.tables import console

    result = experiments.augment(run, file, output, copies, share, temperature, seed, field, label, device)
    if as_json:
        print(json.dumps({**asdict(result), "path": str(result.path)}))
        return
    console.print(f"wrote {result.path}: {result.rows:,} rows and {result.copies:,} copies", markup=False, soft_wrap=True)
    changed = result.changed / result.hidden if result.hidden else 0.0
    console.print(f"{changed:.1%} of {result.hidden:,} masked tokens were replaced by other tokens")
    if result.unchanged_copies:
        console.print(f"{result.unchanged_copies:,} copies equal their row; raise --share or --temperature")
    console.print(
        "train on this file with data.validation=0 data.test=0 and use other rows for validation: copies resemble their row",
        soft_wrap=True,
    )
