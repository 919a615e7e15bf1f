"""`glasshouse translate`: a text in the target language."""

import json
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    'Examples: glasshouse translate piglatin-encoder-decoder "the air conditioning is working" · '
    'glasshouse translate multi30k "A dog runs." --beams 5 --n-best 3 · '
    "glasshouse translate multi30k --file english.txt --output german.txt"
)


def translate(
    run: Run,
    texts: Annotated[list[str] | None, typer.Argument(help="One text or several, each in quotes.")] = None,
    file: Annotated[Path | None, typer.Option(help="Translate each line of this file.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write the translations here, a line each.")] = None,
    beams: Annotated[int | None, typer.Option(min=1, help="Translations followed at once; 1 is greedy.")] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Compare by log-probability / length to this power; 0 favours short ones.")
    ] = None,
    n_best: Annotated[int, typer.Option(min=1, help="How many translations of each text to give.")] = 1,
    word_by_word: Annotated[
        bool | None, typer.Option("--word-by-word/--whole", help="Translate word by word, or whole; by default as trained.")
    ] = None,
    device: Device = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with scores.")] = False,
) -> None:
    """Translate texts, or the lines of a file, greedily or by beam search."""
    import glasshouse
    from glasshouse.cli.tables import console
    from glasshouse.records.progress_bar import say

    if (file is None) == (not texts):
        raise glasshouse.GlasshouseError(
            "texts-or-file", 'give either texts in quotes or --file FILE, as in: glasshouse translate RUN "a text"'
        )
    if output:
        glasshouse.check_output(output)
    how = {"beams": beams, "length_penalty": length_penalty, "n_best": n_best, "word_by_word": word_by_word}
    if file:
        found = glasshouse.translate_file(run, file, device, **how)
    else:
        found = glasshouse.translate(run, texts or (), device, **how)
    if cut := sum(best[0].cut for best in found if best):
        say(f"{cut} of {len(found)} sources are longer than the run's context has room for and were cut")
    if as_json:
        shown = [json.dumps([[{"text": each.text, "score": each.score} for each in best] for best in found])]
    else:
        several = [[f"{each.score:.3f}  {each.text}" if n_best > 1 else each.text for each in best] for best in found]
        shown = [line for lines_of_text in several for line in lines_of_text or [""]]
    if output:
        glasshouse.write_lines(output, shown)
        console.print(f"wrote {len(found)} translations to {output}", soft_wrap=True)
        return
    for line in shown:
        print(line)
