"""A run behind the API, and the limits of a server."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio.to_thread

from glasshouse.runs.run import Run
from glasshouse.serving.batcher import Batcher, QueueFull, TimeLimit
from glasshouse.tasks.whole_text_task import WholeTextTask


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
