"""`glasshouse sample`: continue a prompt."""

import sys
from typing import Annotated

import typer

from glasshouse.cli.arguments import Device, Run

EXAMPLES = (
    'Examples: glasshouse sample demo-lm --prompt "The state of" · '
    'glasshouse sample demo-lm --prompt "My fellow" --temperature 0 · '
    "glasshouse sample demo-lm --count 3 --top-p 0.9 --seed 7"
)


def sample(
    run: Run,
    prompt: Annotated[str, typer.Option(help="What to continue; by default a new document.")] = "",
    tokens: Annotated[int, typer.Option(help="Most tokens to add.")] = 100,
    temperature: Annotated[float, typer.Option(help="0 is greedy; higher is wilder.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="Choose among the K likeliest; 0 is off.")] = 0,
    top_p: Annotated[float, typer.Option(help="Choose among the likeliest that together reach P; 1 is off.")] = 1.0,
    min_p: Annotated[float, typer.Option(help="Drop what is below P times the likeliest; 0 is off.")] = 0.0,
    repetition_penalty: Annotated[float, typer.Option(help="Above 1, what was said becomes less likely.")] = 1.0,
    stop: Annotated[list[str] | None, typer.Option(help="End before this text; may be given more than once.")] = None,
    count: Annotated[int, typer.Option(min=1, help="How many continuations.")] = 1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same text.")] = 0,
    device: Device = "auto",
) -> None:
    """Continue a prompt, the text appearing as it is made."""
    import glasshouse
    from glasshouse.cli.outcome import print_completion

    opened = glasshouse.open_run(run, device)
    completions = [opened.begin(prompt) for _ in range(count)]
    pieces = opened.stream(
        completions,
        tokens=tokens,
        stop=stop or (),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        repetition_penalty=repetition_penalty,
        seed=seed,
    )
    if count > 1:
        for _ in pieces:
            pass
        for completion in completions:
            print_completion(completion)
        return
    sys.stdout.write(prompt)
    for piece in pieces:
        sys.stdout.write(piece.text)
        sys.stdout.flush()
    sys.stdout.write("\n")
