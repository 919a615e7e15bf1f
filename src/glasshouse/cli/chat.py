"""`glasshouse chat`: a chat with a language model, on a terminal or with lines from a pipe."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from glasshouse.cli.arguments import Config, Device, LanguageModel, System, Temperature, TopP
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse chat demo-lm · "
    'glasshouse chat gguf:model.gguf --system "You are a botanist." --output chat.txt · '
    'printf "Hello\\nAnd now?\\n" | glasshouse chat demo-lm --seed 1'
)
RESET, QUIT = "/reset", "/quit"


def chat(
    model: LanguageModel,
    temperature: Temperature = 0.7,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            callback=at_most(10**6),
            help="The largest number of tokens of an answer; default: 256, or half of a small context.",
        ),
    ] = None,
    top_p: TopP = 1.0,
    seed: Annotated[
        int | None, typer.Option(min=0, callback=at_most(2**63 - 1), help="The random seed; default: another one each time.")
    ] = None,
    system: System = "",
    output: Annotated[Path | None, typer.Option(help="A text file to which the chat is appended.")] = None,
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Chat with a language model. Every line is a message; /reset starts anew, /quit or Ctrl-D ends, Ctrl-C stops an answer.

    The oldest messages are left out once the context is full.
    """
    from glasshouse.api import llms
    from glasshouse.cli.answer_output import Printer
    from glasshouse.records.progress_bar import say

    opened = llms.open_chat(model, system, temperature, max_tokens, top_p, seed, output, config, device)
    for line in _lines():
        if line == QUIT:
            break
        if line == RESET:
            opened.reset()
            say("(new chat)")
            continue
        if line.startswith("/"):
            say(f"(unknown command {line.split()[0]}; write {RESET} or {QUIT})")
            continue
        printer = Printer()
        try:
            reply = opened.say(line, printer.show)
        except KeyboardInterrupt:
            printer.end()
            say("(stopped; the question is not kept)")
            continue
        printer.end(reply)
        if opened.dropped:
            say(f"(the oldest {opened.dropped} messages no longer fit into the context)")


def _lines() -> Iterator[str]:
    """The lines of the terminal, with a prompt, or of a pipe. Empty ones are left out."""
    terminal = sys.stdin.isatty()
    if terminal:
        import readline  # noqa: F401  (arrow keys edit a line and recall earlier ones)
    while True:
        try:
            line = input("> ") if terminal else sys.stdin.readline()
        except EOFError:
            print()
            return
        if not terminal and not line:
            return
        if line.strip():
            yield line.strip()
