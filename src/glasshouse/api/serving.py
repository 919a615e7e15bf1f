"""The public function that serves runs over HTTP."""

from collections.abc import Callable, Sequence

import torch

from glasshouse.runs.run import Run
from glasshouse.serving import check_installed
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
    dtype: str = "float32",
    started_at: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve runs by the OpenAI API until a signal; `started_at` is called with the address. Port 0 takes any free one.

    `max_concurrent` texts are generated at the same time. `raw` reports log-probabilities before the logit bias.
    `dtype` is the number format of the weights: "float32", "bfloat16" or "int8".
    """
    check_installed("glasshouse serve")
    from glasshouse.pages import playground_page
    from glasshouse.serving import server
    from glasshouse.serving.application import create_app
    from glasshouse.serving.served_model import ServerOptions

    server.check_host(host)
    if api_key is not None and not ((api_key := api_key.strip()) and api_key.isprintable()):
        raise GlasshouseError("the API key is empty or has control characters; choose another, or leave the option out")
    # Every thread that computes in parallel keeps workers, and if there are more of them than cores, all of them are slow.
    # Texts are generated in another thread, which has the workers.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        opened: dict[str, Run] = {}
        for name in runs:
            run = Run(name, device, dtype)
            if run.name in opened:
                raise GlasshouseError(f"two runs are named {run.name!r}; name each once, or rename one")
            _ = run.model, run.tokenizer  # a run without a checkpoint is refused now, not at the first request
            opened[run.name] = run
        options = ServerOptions(api_key, max_concurrent, most_tokens=max_tokens, seconds=timeout, raw=raw, threads=threads)
        server.serve_app(create_app(opened, options, playground_page.render), host, port, started_at, timeout)
    finally:
        torch.set_num_threads(threads)
