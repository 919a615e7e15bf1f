"""The public function that serves runs over HTTP."""

from collections.abc import Callable, Sequence

from glasshouse.runs.run import Run
from glasshouse.specs.errors import GlasshouseError


def serve(
    runs: Sequence[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    api_key: str | None = None,
    max_concurrent: int = 32,
    max_tokens: int = 4096,
    timeout: float = 600.0,
    raw: bool = False,
    device: str = "auto",
    started_at: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve runs by the OpenAI API until a signal; `started_at` is called with the address. Port 0 takes any free one.

    `max_concurrent` texts are generated at the same time. `raw` reports log-probabilities before the logit bias.
    """
    if len(set(runs)) < len(runs):
        raise GlasshouseError("same-name", f"a run is named twice: {', '.join(runs)}; name each once")
    opened = {name: Run(name, device) for name in runs}
    for run in opened.values():
        _ = run.model  # a run without a checkpoint is refused now, not at the first request
    try:
        from glasshouse.serving import server
        from glasshouse.serving.application import ServerOptions
    except ImportError as error:
        raise GlasshouseError(
            "missing-extra", f"serve needs the package {error.name}; install it with: pip install 'glasshouse[serve]'"
        ) from error
    options = ServerOptions(api_key, max_concurrent, most_tokens=max_tokens, seconds=timeout, raw=raw)
    server.serve(opened, options, host, port, started_at)
