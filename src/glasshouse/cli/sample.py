"""`glasshouse sample`: continue a prompt."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from glasshouse.cli.arguments import Device, DType, Run
from glasshouse.cli.options import at_most, has_options
from glasshouse.generation.sampling_options import Sampling
from glasshouse.specs.errors import Interrupted
from glasshouse.specs.options import given

EXAMPLES = (
    'Examples: glasshouse sample demo-lm --prompt "The state of" · '
    'glasshouse sample demo-lm --prompt "My fellow" --temperature 0 · '
    "glasshouse sample demo-lm --count 3 --top-p 0.9 --seed 7 · "
    'glasshouse sample demo-lm --prompt "In the year " --regex "(19|20)[0-9]{2}" · '
    "glasshouse sample demo-lm --json-schema speech.json --tokens 300"
)


@has_options(Sampling, leave_out=("presence_penalty", "frequency_penalty"), temperature=0.8)
def sample(
    run: Run,
    sampling: Sampling,
    prompt: Annotated[str, typer.Option(help="The text to continue; default: the start of a new document.")] = "",
    tokens: Annotated[int, typer.Option(callback=at_most(10**6), help="The largest number of tokens to generate.")] = 100,
    stop: Annotated[list[str] | None, typer.Option(help="Stop before this text; can be repeated.")] = None,
    regex: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="The whole continuation matches this regular expression.")
    ] = None,
    json_schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The continuation is JSON that is valid under the schema in this file."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, callback=at_most(4096), help="The number of continuations.")] = 1,
    raw: Annotated[
        bool, typer.Option("--raw", help="Leave control characters as they are where the output is no terminal.")
    ] = False,
    device: Device = "auto",
    dtype: DType = "float32",
) -> None:
    """Continue a prompt. A single continuation is printed token by token."""
    import glasshouse
    from glasshouse.cli.run_output import print_completion
    from glasshouse.cli.tables import shown

    opened = glasshouse.open_run(run, device, dtype)
    completions = [opened.new_completion(prompt) for _ in range(count)]
    pieces = opened.stream(
        completions,
        tokens=tokens,
        stop=stop or (),
        regex=regex,
        json_schema=json_schema,
        **given(sampling),
    )
    if count > 1:
        made = _all_pieces(pieces, count * tokens)
        for completion in completions:
            if raw:
                sys.stdout.write(shown(completion.prompt + completion.text, raw) + "\n\n")
            else:
                print_completion(completion)
        if not made:
            raise Interrupted(signal.SIGINT, "stopped; the continuations are cut off")
    else:
        sys.stdout.write(shown(prompt, raw))
        for piece in pieces:
            sys.stdout.write(shown(piece.text, raw))
            sys.stdout.flush()
        sys.stdout.write("\n")
    cut = sum(completion.finish != "end" for completion in completions)
    if cut and (regex is not None or json_schema is not None):
        which = "the continuation was" if count == 1 else f"{cut} of {count} continuations were"
        typer.echo(f"{which} cut off and may lack the end of the form; raise --tokens", err=True)


def _all_pieces(pieces: Iterator[Any], total: int) -> bool:
    """Make all continuations, with a progress bar. False if Ctrl-C stopped it."""
    from glasshouse.records import progress_bar

    try:
        with progress_bar.bar("sampling") as bar:
            for number, _ in enumerate(pieces, 1):
                bar(number / total)
    except KeyboardInterrupt:
        return False
    return True
