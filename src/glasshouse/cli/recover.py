"""`glasshouse recover`: the whole distribution of the next token, from an API that shows only its top."""

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from glasshouse.cli.arguments import Device, Overwrite
from glasshouse.cli.options import at_most

EXAMPLES = (
    'Examples: glasshouse recover demo-lm --prompt "The state of" --top 2 · '
    'glasshouse recover demo-lm --prompt "The state of" --estimate · '
    'glasshouse recover demo-lm --prompt "The state of" --top 5 --decimals 4 --top-p 0.9 --count 5'
)
SHOWN = 10


def recover(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A run, run:NAME, or a model of kind openai that llms.toml names.")
    ],
    prompt: Annotated[str, typer.Option(help="The text before the next token.")],
    top: Annotated[
        int, typer.Option(min=1, callback=at_most(10**7), help="The number of log-probabilities that the API shows.")
    ] = 20,
    method: Annotated[
        Literal["ratio", "closed-form", "forced", "bisection"] | None,
        typer.Option(help="How to recover; default: the method that suits what the first calls show."),
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Print the calls and the expected error, and stop.")] = False,
    top_p: Annotated[
        float | None,
        typer.Option(min=0.001, max=1, help="Then sample from the most likely tokens whose probabilities sum to P."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, callback=at_most(10**7), help="The number of tokens to sample.")] = 1,
    seed: Annotated[int, typer.Option(callback=at_most(2**63 - 1), help="The random seed of the samples.")] = 0,
    decimals: Annotated[
        int | None, typer.Option(min=0, max=17, help="Imitate an API that rounds log-probabilities to so many decimals.")
    ] = None,
    before_bias: Annotated[
        bool, typer.Option("--before-bias", help="Imitate an API that shows log-probabilities before the bias.")
    ] = False,
    output: Annotated[Path | None, typer.Option(help="A JSON file for the probability of every token.")] = None,
    overwrite: Overwrite = False,
    journal: Annotated[
        Path | None, typer.Option(help="The file of the answers so far; default: in the folder of the run.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The file that names models; default: llms.toml.")] = None,
    device: Device = "auto",
) -> None:
    """Recover the probability of every next token from an API that shows only the most likely ones and takes a logit bias.

    A killed recovery continues with the same command.
    """
    from glasshouse.api import llms, runs
    from glasshouse.cli.tables import console, show

    if output is not None:
        runs.check_output(output, overwrite)
    recovery = llms.open_recovery(model, prompt, top, method, decimals, before_bias, journal, device, config)
    probe = recovery.probe()
    plan = recovery.plan(probe)
    side = "after" if probe.after_bias else "before"
    console.print(f"{recovery.api.name} shows {probe.top} log-probabilities {side} the bias, exact to {probe.rounding:.1g}")
    console.print(
        f"method {plan.method}: {plan.calls:,} calls for {recovery.api.vocabulary:,} tokens, "
        f"expected error of a log-probability {plan.expected_error:.1g}"
    )
    if estimate:
        return
    found = llms.recover(recovery)
    rows = [
        (repr(recovery.api.token_text(token)), f"{math.exp(found.log_probabilities[token]):.6f}", f"{error:.1g}")
        for token in found.most_likely(SHOWN)
        for error in (found.errors[token],)
    ]
    show(("token", "probability", "relative error"), rows, right=(1, 2))
    error = llms.recovery_error(recovery, found)
    console.print(
        f"{found.calls:,} calls"
        + ("" if error is None else f"; largest error against the log-probabilities of the run: {error:.1g}")
        + (f"; {found.missing:,} tokens too improbable to be shown" if found.missing else "")
    )
    if top_p is not None:
        drawn = found.sample(count, top_p, seed=seed)
        console.print("sampled: " + "  ".join(repr(recovery.api.token_text(token)) for token in drawn), markup=False)
    if output is not None:
        console.print(f"written {llms.write_recovered(recovery, found, output)}", markup=False, soft_wrap=True)
