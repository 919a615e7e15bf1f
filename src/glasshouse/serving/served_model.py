"""A run behind the API, the limits of a server, and its counts and times in the format of Prometheus."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio.to_thread
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from glasshouse.runs.run import Run
from glasshouse.serving.batcher import Batcher, QueueFull, TimeLimit
from glasshouse.tasks.whole_text_task import WholeTextTask

SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
ENDPOINTS = ("models", "completions", "chat/completions", "tokenize", "detokenize", "embeddings", "classify", "translate")
PATHS = ("/", "/health", "/metrics", "/openapi.json", *(f"/v1/{name}" for name in ENDPOINTS))
GAUGES: tuple[tuple[str, str, Callable[[Batcher], float]], ...] = (
    ("glasshouse_active_texts", "Texts that are being generated.", lambda batcher: batcher.active),
    ("glasshouse_waiting_requests", "Requests that wait.", lambda batcher: batcher.waiting),
    ("glasshouse_steps", "Steps of the engine.", lambda batcher: batcher.steps),
)


@dataclass(frozen=True)
class ServerOptions:
    """The limits of a server.

    raw: report log-probabilities before the bias.
    threads: CPU threads of the thread that generates; 0 leaves torch's choice.
    """

    api_key: str | None = None
    most_concurrent: int = 32
    most_waiting: int = 256
    most_bytes: int = 2**20
    most_tokens: int = 4096
    seconds: float = 600.0
    raw: bool = False
    threads: int = 0


class ServedModel:
    """A run behind the API. A language model has a batcher; the other kinds answer one request at a time."""

    def __init__(self, run: Run, options: ServerOptions) -> None:
        self.run, self.options = run, options
        self.created = int(run.folder.path.stat().st_mtime)
        self.lock, self.waiting = asyncio.Lock(), 0
        self.batcher: Batcher | None = None
        if run.continues_text:
            self.batcher = Batcher(run, options.most_concurrent, options.most_waiting, options.raw, options.threads)

    @property
    def description(self) -> dict[str, Any]:
        return {
            "id": self.run.name,
            "object": "model",
            "created": self.created,
            "owned_by": "glasshouse",
            "context": self.run.spec.data.context,
            "vocabulary": self.run.tokenizer.vocabulary,
        }

    @property
    def path(self) -> str:
        """The endpoint for models of this kind."""
        if self.batcher:
            return "/v1/completions"
        if isinstance(self.run.task, WholeTextTask):
            return "/v1/classify"
        return "/v1/translate" if self.run.spec.task == "translate" else "/v1/embeddings"

    async def call(self, function: Callable[[], Any]) -> Any:
        """Call a function of the run in a thread, one call at a time."""
        if self.waiting >= self.options.most_waiting:
            raise QueueFull(self.waiting)
        self.waiting += 1
        try:
            async with asyncio.timeout(self.options.seconds), self.lock:
                return await anyio.to_thread.run_sync(function)
        except TimeoutError:
            raise TimeLimit(self.options.seconds) from None
        finally:
            self.waiting -= 1


class ServerMeasurements:
    """The counters of one server."""

    def __init__(self, batchers: Mapping[str, Batcher]) -> None:
        self.registry = every = CollectorRegistry()
        self.requests = Counter("glasshouse_requests", "Answered requests.", ("path", "status"), registry=every)
        self.prompt_tokens = Counter("glasshouse_prompt_tokens", "Tokens of prompts.", registry=every)
        self.tokens = Counter("glasshouse_generated_tokens", "Generated tokens.", registry=every)
        times = partial(Histogram, buckets=SECONDS, registry=every)
        self.seconds = times("glasshouse_request_seconds", "Time of a request.", ("path",))
        self.first_token = times("glasshouse_first_token_seconds", "Time to the first text.")
        for name, description, read in GAUGES:
            gauge = Gauge(name, description, ("model",), registry=every)
            for model, batcher in batchers.items():
                gauge.labels(model).set_function(partial(read, batcher))

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer. Paths that do not exist are counted together: a client can make up any number."""
        path = path if path in PATHS else "/v1/models" if path.startswith("/v1/models/") else "other"
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)
