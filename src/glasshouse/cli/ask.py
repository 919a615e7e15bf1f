"""`glasshouse ask`: one question to a language model."""

from typing import Annotated

import typer

from glasshouse.cli.arguments import Config, Device, LanguageModel, MaxTokens, System, Temperature, TopP
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse ask demo-lm "Who was Chandragupta Maurya?" · '
    'glasshouse ask gguf:model.gguf "What is 77 divided by 26?" --temperature 0 · '
    'glasshouse ask remote "Name three rivers." --system "Answer in one line." --max-tokens 60'
)


def ask(
    model: LanguageModel,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    temperature: Temperature = 0.7,
    max_tokens: MaxTokens = 256,
    top_p: TopP = 1.0,
    seed: Annotated[
        int | None, typer.Option(min=0, callback=at_most(2**63 - 1), help="The random seed; default: another one each time.")
    ] = None,
    system: System = "",
    config: Config = None,
    device: Device = "auto",
) -> None:
    """Ask a language model one question. The answer is printed as it comes."""
    from glasshouse.api import llms
    from glasshouse.cli.answer_output import Printer

    printer = Printer()
    reply = llms.ask(model, question, system, temperature, max_tokens, top_p, seed, config, device, printer.show)
    printer.end(reply)
