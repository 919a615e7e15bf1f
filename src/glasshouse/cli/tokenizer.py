"""`glasshouse tokenizer`: train a tokenizer, or show how it splits a text."""

from typing import Annotated

from glasshouse.cli.options import Limits, argument, group, option, writes_output
from glasshouse.cli.tables import console
from glasshouse.formatting import visible

# Neighbouring tokens get different colours.
COLOURS = ("black on #b5e2c4", "black on #f3d9a4", "black on #bcd4f2", "black on #eec3d3")


def tokenizer() -> None:
    """Train a tokenizer, or show how it splits a text.

    Examples:
        glasshouse tokenizer train a.txt b.txt.gz
        glasshouse tokenizer show tokenizer.json --text "unshakable faith"
    """


@writes_output
def train(
    files: Annotated[list[str], argument("Text files: plain, .gz or JSON lines.")],
    vocabulary: Annotated[int, option("The size of the vocabulary.", high=10**7)] = 8192,
    output: Annotated[str, option("The file to write.")] = "tokenizer.json",
    kind: Annotated[str, option("The kind of tokenizer: byte-pair, words or characters.")] = "byte-pair",
    pattern: Annotated[str, option("The pre-tokenizer of byte-pair: gpt-2 or gpt-4.")] = "gpt-2",
    field: Annotated[str, option("The field of a JSON line that holds the text.")] = "text",
    limits: Limits = "",
) -> None:
    """Train a tokenizer and write it as tokenizer.json, which the `tokenizers` package reads too.

    Examples:
        glasshouse tokenizer train a.txt b.txt.gz --vocabulary 8192 --output tokenizer.json
    """
    from glasshouse.api import data

    trained = data.train_tokenizer(files, vocabulary, output, kind, pattern, field, limits)
    console.print(f"{trained.vocabulary:,} tokens")


def show_(
    file: Annotated[str, argument("A tokenizer.json file, or the name or folder of a run.")],
    text: Annotated[str, option("The text to tokenize.")],
) -> None:
    """Show the tokens of a text in colour, and their ids.

    Examples:
        glasshouse tokenizer show tokenizer.json --text "unshakable faith"
    """
    from rich.text import Text

    from glasshouse.api import data

    tokenizer = data.load_tokenizer(file)
    ids = [int(token) for token in tokenizer.encode(text)]
    line = Text()
    for index, token in enumerate(ids):
        text_of_token = tokenizer.token_bytes(token).decode("utf-8", "replace")
        if index and console.color_system is None:
            line.append("|")
        line.append(visible(text_of_token), style=COLOURS[index % len(COLOURS)])
    console.print(line)
    console.print(" ".join(map(str, ids)))
    console.print(f"{len(ids)} tokens, {len(text)} characters, {len(text.encode())} bytes")


app = group(tokenizer, train, show_)
