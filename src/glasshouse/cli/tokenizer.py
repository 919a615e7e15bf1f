"""`glasshouse tokenizer`: train a tokenizer, or show how it splits a text."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Limits, Overwrite
from glasshouse.cli.options import at_most

app = typer.Typer(help="Train a tokenizer, or show how it splits a text.", no_args_is_help=True)

# Neighbouring tokens get different colours.
COLOURS = ("black on #b5e2c4", "black on #f3d9a4", "black on #bcd4f2", "black on #eec3d3")


@app.command(epilog="Example: glasshouse tokenizer train a.txt b.txt.gz --vocabulary 8192 --output tokenizer.json")
def train(
    files: Annotated[list[str], typer.Argument(help="Text files: plain, .gz or JSON lines.")],
    vocabulary: Annotated[int, typer.Option(callback=at_most(10**7), help="The size of the vocabulary.")] = 8192,
    output: Annotated[str, typer.Option(help="The file to write.")] = "tokenizer.json",
    overwrite: Overwrite = False,
    kind: Annotated[str, typer.Option(help="The kind of tokenizer: byte-pair, words or characters.")] = "byte-pair",
    pattern: Annotated[str, typer.Option(help="The pre-tokenizer of byte-pair: gpt-2 or gpt-4.")] = "gpt-2",
    field: Annotated[str, typer.Option(help="The field of a JSON line that holds the text.")] = "text",
    limits: Limits = "",
) -> None:
    """Train a tokenizer and write it as tokenizer.json, which the `tokenizers` package reads too."""
    from glasshouse.api import data, runs
    from glasshouse.cli.tables import shown

    runs.check_output(output, overwrite)
    trained = data.train_tokenizer(files, vocabulary, output, kind, pattern, field, limits)
    print(shown(f"{output}: {trained.vocabulary:,} tokens"))


@app.command(epilog='Example: glasshouse tokenizer show tokenizer.json --text "unshakable faith"')
def show(
    file: Annotated[str, typer.Argument(help="A tokenizer.json file, or the name or folder of a run.")],
    text: Annotated[str, typer.Option(help="The text to tokenize.")],
) -> None:
    """Show the tokens of a text in colour, and their ids."""
    from rich.text import Text

    from glasshouse.api import data
    from glasshouse.cli.tables import console
    from glasshouse.formatting import visible

    tokenizer = data.load_tokenizer(file)
    ids = [int(token) for token in tokenizer.encode(text)]
    line = Text()
    for index, token in enumerate(ids):
        text_of_token = tokenizer.token_bytes(token).decode("utf-8", "replace")
        if index and console.color_system is None:
            line.append("|")
        line.append(visible(text_of_token), style=COLOURS[index % len(COLOURS)])
    console.print(line, soft_wrap=True)
    console.print(" ".join(map(str, ids)), soft_wrap=True)
    console.print(f"{len(ids)} tokens, {len(text)} characters, {len(text.encode())} bytes")
