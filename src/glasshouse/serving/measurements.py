"""Counts and times of a server, in the format of Prometheus."""

from collections.abc import Callable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from glasshouse.serving.batcher import Batcher

SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
ENDPOINTS = ("models", "completions", "chat/completions", "tokenize", "detokenize", "embeddings", "classify", "translate")
PATHS = ("/", "/health", "/metrics", "/openapi.json", *(f"/v1/{name}" for name in ENDPOINTS))
GAUGES: tuple[tuple[str, str, Callable[[Batcher], float]], ...] = (
    ("glasshouse_active_texts", "Texts that are being generated.", lambda batcher: batcher.active),
    ("glasshouse_waiting_requests", "Requests that wait.", lambda batcher: batcher.waiting),
    ("glasshouse_steps", "Steps of the engine.", lambda batcher: batcher.steps),
)


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
