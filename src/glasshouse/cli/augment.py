"""`glasshouse augment`: paraphrases of labelled rows by a masked-token run."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    "Examples: glasshouse augment masked-model mine.tsv --output more.tsv · "
    "glasshouse augment masked-model lines.txt --output more.txt --copies 5 --share 0.3 --temperature 0.7"
)


def augment(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows with labels (.tsv, .csv, .jsonl), or plain lines.")],
    output: Annotated[Path, typer.Option(help="The file to write, which must not exist yet: .tsv for rows with labels.")],
    copies: Annotated[int, typer.Option(help="Paraphrases of each row.")] = 2,
    share: Annotated[float, typer.Option(help="Share of a text's tokens that is hidden and drawn anew.")] = 0.15,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token; higher is wilder.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 0,
    field: Annotated[str, typer.Option(help="The field of a .csv or .jsonl row that holds the text.")] = "text",
    label: Annotated[str, typer.Option(help="The field that holds its class.")] = "label",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write each row of a file, and copies of it in which a masked-token run has replaced some tokens.

    The copies keep the row's label, which the run knows nothing of. Hold out rows for testing before this, not after: copies
    of one row are different texts, and would be held out apart from it.
    """
    import glasshouse
    from glasshouse.cli.tables import console

    made = glasshouse.augment(run, file, output, copies, share, temperature, seed, field, label, device)
    if as_json:
        print(json.dumps({**asdict(made), "path": str(made.path)}))
        return
    console.print(f"wrote {made.path}: {made.rows:,} rows and {made.copies:,} copies", markup=False, soft_wrap=True)
    changed = made.changed / made.hidden if made.hidden else 0.0
    console.print(f"{changed:.1%} of {made.hidden:,} hidden tokens came back as others")
    if made.unchanged_copies:
        console.print(f"{made.unchanged_copies:,} copies are the same as their row: raise --share or --temperature")
    console.print(
        "train on it with data.validation=0 data.test=0, or with rows held out before: copies resemble their row",
        soft_wrap=True,
    )
