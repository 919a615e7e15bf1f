"""`glasshouse translate`: translate texts or a file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Limits, Overwrite, Run
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse translate piglatin-encoder-decoder "the air conditioning is working" · '
    'glasshouse translate multi30k "A dog runs." --beams 5 --n-best 3 · '
    "glasshouse translate multi30k --file english.txt --output german.txt"
)


def translate(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(help="One or more texts, each in quotes.")] = None,
    file: Annotated[Path | None, typer.Option(help="A file to translate, line by line.")] = None,
    output: Annotated[Path | None, typer.Option(help="The file to write the translations to, one per line.")] = None,
    overwrite: Overwrite = False,
    beams: Annotated[
        int | None, typer.Option(min=1, callback=at_most(1000), help="The beam width; 1 is greedy decoding.")
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(max=100, help="Rank beams by log-probability / length ** PENALTY; 0 favours short outputs."),
    ] = None,
    n_best: Annotated[int, typer.Option(min=1, callback=at_most(1000), help="The number of translations per text.")] = 1,
    word_by_word: Annotated[
        bool | None,
        typer.Option(
            "--word-by-word/--whole", help="Translate each word separately, or the whole text; default: as trained."
        ),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Leave control characters as they are where the output is no terminal.")
    ] = False,
    limits: Limits = "",
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with scores.")] = False,
) -> None:
    """Translate texts, or the lines of a file, by greedy decoding or beam search."""
    import glasshouse
    from glasshouse.api import runs
    from glasshouse.cli.tables import console, shown
    from glasshouse.records.progress_bar import say

    if (file is None) == (not texts):
        raise glasshouse.GlasshouseError(
            'translate needs either texts or --file FILE, and not both; for example: glasshouse translate RUN "a text"'
        )
    if output:
        runs.check_output(output, overwrite)
    options = {"beams": beams, "length_penalty": length_penalty, "n_best": n_best, "word_by_word": word_by_word}
    if file:
        translations = runs.translate_file(run, file, device, limits, **options)
    else:
        translations = glasshouse.translate(run, texts or (), device, **options)
    if truncated := sum(best[0].truncated for best in translations if best):
        say(f"{truncated} of {len(translations)} sources are longer than the context of the run and were truncated")
    if as_json:
        rows = [[{"text": item.text, "score": item.score} for item in best] for best in translations]
        lines = [json.dumps(rows)]
    else:
        # An empty source has no translation; an empty line keeps the lines of input and output aligned.
        texts_of = [
            [f"{item.score:.3f}  {item.text}" if n_best > 1 else item.text for item in best] for best in translations
        ]
        lines = [line for group in texts_of for line in group or [""]]
    if output:
        runs.write_lines(output, lines)
        console.print(f"wrote {len(translations)} translations to {output}", soft_wrap=True)
        return
    for line in lines:
        print(shown(line, raw))
