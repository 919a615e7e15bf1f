"""What a server counts and measures, in the format of Prometheus."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from glasshouse.serving.batcher import Batcher

SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
PATHS = (
    "/",
    "/health",
    "/metrics",
    "/openapi.json",
    "/v1/models",
    "/v1/completions",
    "/v1/chat/completions",
    "/v1/tokenize",
    "/v1/detokenize",
    "/v1/embeddings",
    "/v1/classify",
    "/v1/translate",
)


class ServerMeasurements:
    """The counters of one server."""

    def __init__(self, batchers: Mapping[str, Batcher]) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("glasshouse_requests", "Answered requests.", ("path", "status"), registry=self.registry)
        self.prompt_tokens = Counter("glasshouse_prompt_tokens", "Tokens of prompts.", registry=self.registry)
        self.tokens = Counter("glasshouse_generated_tokens", "Generated tokens.", registry=self.registry)
        self.seconds = Histogram(
            "glasshouse_request_seconds", "Time of a request.", ("path",), buckets=SECONDS, registry=self.registry
        )
        self.first_token = Histogram(
            "glasshouse_first_token_seconds", "Time to the first text.", buckets=SECONDS, registry=self.registry
        )
        active = Gauge("glasshouse_active_texts", "Texts that are being generated.", ("model",), registry=self.registry)
        waiting = Gauge("glasshouse_waiting_requests", "Requests that wait.", ("model",), registry=self.registry)
        steps = Gauge("glasshouse_steps", "Steps of the engine.", ("model",), registry=self.registry)
        for name, batcher in batchers.items():
            active.labels(name).set_function(lambda batcher=batcher: batcher.active)  # type: ignore[misc]
            waiting.labels(name).set_function(lambda batcher=batcher: batcher.waiting)  # type: ignore[misc]
            steps.labels(name).set_function(lambda batcher=batcher: batcher.steps)  # type: ignore[misc]

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count an answer. Paths that do not exist are counted together: a client can make up any number."""
        path = path if path in PATHS else "/v1/models" if path.startswith("/v1/models/") else "other"
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)

    def count(self, prompt_tokens: int, tokens: int) -> None:
        self.prompt_tokens.inc(prompt_tokens)
        self.tokens.inc(tokens)

    def text(self) -> bytes:
        return generate_latest(self.registry)
