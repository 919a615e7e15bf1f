"""The pages of all runs, written or served, and an OpenAI-compatible server."""

from typing import Annotated, Literal

import glasshouse
from glasshouse.cli.options import Device, DType, argument, option
from glasshouse.cli.tables import console, shown


def pages(
    folder: Annotated[
        str | None,
        argument("A folder of runs or studies, or with runs/ and studies/; default: those of this project.", "FOLDER"),
    ] = None,
    live: Annotated[bool, option("Serve the pages on this machine, and refresh them.", "--live")] = False,
    port: Annotated[
        int | None, option("With --live: the port; default: 8010; 0 takes any free one.", low=0, max=65535)
    ] = None,
    token: Annotated[
        str | None, option("With --live: the token of the address; default: a random one.", envvar="GLASSHOUSE_PAGES_TOKEN")
    ] = None,
    open_: Annotated[bool, option("Open the page in a browser.", "--open")] = False,
) -> None:
    """Write an index page over all runs and studies, with their curves laid over each other.

    The index is index.html in the runs folder, or in FOLDER. It needs no server. Call the command again to refresh it.

    With --live the same pages are served while things train: curves move, samples appear, and a run can be stopped, resumed
    or have its report made. The printed address contains a token; without it every request is refused.

    Examples:
        glasshouse pages
        glasshouse pages shared-folder
        glasshouse pages --live
        glasshouse pages shared-folder --live --port 9000
    """
    from glasshouse.api import serving

    if not live:
        if port is not None:
            raise glasshouse.GlasshouseError("is for pages that are served; add --live", "port", port)
        path = serving.write_pages(folder)
        print(shown(str(path), raw=True))
        if open_:
            serving.open_browser(path.absolute().as_uri())
        return

    def started(address: str) -> None:
        console.print(f"pages at {address} (Ctrl-C ends them)")
        if open_:
            serving.open_browser(address)

    serving.serve_pages(folder, 8010 if port is None else port, token, started)


def serve(
    runs: Annotated[list[str], argument("The names of one or more runs.", "RUN")],
    port: Annotated[int, option("The port; 0 takes any free one.", low=0, max=65535)] = 8000,
    host: Annotated[str, option("The address to bind to. The default is for this machine only.")] = "127.0.0.1",
    api_key: Annotated[
        str | None, option("A key that every request but /health must send as a bearer token.", envvar="GLASSHOUSE_API_KEY")
    ] = None,
    max_concurrent: Annotated[int, option("How many texts are generated at the same time.", low=1, high=10000)] = 32,
    max_tokens: Annotated[int, option("The most tokens that a request may ask for.", low=1, high=10**6)] = 4096,
    timeout: Annotated[float, option("The seconds after which a request is given up.", low=1, high=10**6)] = 600.0,
    logprobs: Annotated[Literal["biased", "raw"], option("Whether log-probabilities include the logit bias.")] = "biased",
    device: Device = "auto",
    dtype: DType = "float32",
) -> None:
    """Serve runs by the OpenAI API, with a page to try them.

    Language models answer at /v1/completions and /v1/chat/completions, encoders at /v1/embeddings, classifiers at
    /v1/classify, translators at /v1/translate. SIGTERM finishes what is running.

    Examples:
        glasshouse serve demo-lm
        glasshouse serve small large --port 8080 --api-key secret
        curl localhost:8000/v1/completions -d '{"model": "demo-lm", "prompt": "The state of", "max_tokens": 20}'
    """

    def started(address: str) -> None:
        console.print(f"serving {', '.join(runs)} at {address} (Ctrl-C ends it)")

    raw = logprobs == "raw"
    glasshouse.serve(runs, host, port, api_key, max_concurrent, max_tokens, timeout, raw, device, dtype, started_at=started)
