"""`glasshouse serve`: an OpenAI-compatible server over runs."""

from typing import Annotated, Literal

import typer

from glasshouse.cli.arguments import Device, DType
from glasshouse.cli.options import at_most

EXAMPLES = (
    "Examples: glasshouse serve demo-lm · glasshouse serve small large --port 8080 --api-key secret · "
    'curl localhost:8000/v1/completions -H "Content-Type: application/json" '
    '-d \'{"model": "demo-lm", "prompt": "The state of", "max_tokens": 20}\''
)


def serve(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="The names of one or more runs.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = 8000,
    host: Annotated[str, typer.Option(help="The address to bind to. The default is for this machine only.")] = "127.0.0.1",
    api_key: Annotated[
        str | None,
        typer.Option(envvar="GLASSHOUSE_API_KEY", help="A key that every request but /health must send as a bearer token."),
    ] = None,
    max_concurrent: Annotated[
        int, typer.Option(min=1, callback=at_most(10_000), help="How many texts are generated at the same time.")
    ] = 32,
    max_tokens: Annotated[
        int, typer.Option(min=1, callback=at_most(10**6), help="The most tokens that a request may ask for.")
    ] = 4096,
    timeout: Annotated[
        float, typer.Option(min=1, callback=at_most(10**6), help="The seconds after which a request is given up.")
    ] = 600.0,
    logprobs: Annotated[
        Literal["biased", "raw"], typer.Option(help="Whether log-probabilities include the logit bias.")
    ] = "biased",
    device: Device = "auto",
    dtype: DType = "float32",
) -> None:
    """Serve runs by the OpenAI API, with a page to try them.

    Language models answer at /v1/completions and /v1/chat/completions, encoders at /v1/embeddings, classifiers at
    /v1/classify, translators at /v1/translate. SIGTERM finishes what is running.
    """
    import glasshouse
    from glasshouse.cli.tables import console

    def started(address: str) -> None:
        console.print(f"serving {', '.join(runs)} at {address} (Ctrl-C ends it)", markup=False, soft_wrap=True)

    raw = logprobs == "raw"
    glasshouse.serve(runs, host, port, api_key, max_concurrent, max_tokens, timeout, raw, device, dtype, started_at=started)
