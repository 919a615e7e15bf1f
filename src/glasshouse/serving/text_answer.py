"""The answer to a request for text: whole, or as a stream of server-sent events."""

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from glasshouse.serving import answers
from glasshouse.serving.batcher import Batcher, Piece, TextJob
from glasshouse.serving.measurements import ServerMeasurements
from glasshouse.serving.served_model import ServerOptions
from glasshouse.specs.errors import GlasshouseError


class TextAnswer:
    """The answer to a request for text: whole, or as a stream of chunks (`streams`).

    The events of a whole answer are held back until it is complete: otherwise every token would wake the event loop, and the
    thread that generates would wait for it.
    """

    def __init__(
        self,
        job: TextJob,
        batcher: Batcher,
        measurements: ServerMeasurements,
        options: ServerOptions,
        head: dict[str, Any],
        choices: int,
        prompt_tokens: int,
        streams: bool,
    ) -> None:
        self.job, self.batcher, self.measurements, self.head = job, batcher, measurements, head
        self.unfinished, self.prompt_tokens, self.tokens, self.first = choices, prompt_tokens, 0, True
        self.began = time.monotonic()
        self.events: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        held: list[Any] = []
        unfinished, self.first_token = choices, 0.0

        def deliver(event: Any) -> None:
            nonlocal unfinished
            if isinstance(event, Piece):
                unfinished -= event.finish is not None
                self.first_token = self.first_token or time.monotonic()
            held.append(event)
            if streams or not unfinished or isinstance(event, Exception):
                with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
                    loop.call_soon_threadsafe(self._put, held.copy())
                held.clear()

        job.deliver = deliver
        job.deadline, job.limit = self.began + options.seconds, options.seconds
        batcher.submit(job)

    def _put(self, events: list[Any]) -> None:
        for event in events:
            self.events.put_nowait(event)

    async def _next(self) -> Any:
        """The next event."""
        event = await self.events.get()
        if isinstance(event, Exception):
            raise event
        if isinstance(event, Piece):
            if self.first and event.tokens:
                self.first = False
                self.measurements.first_token.observe(self.first_token - self.began)
            self.tokens += len(event.tokens)
            self.unfinished -= event.finish is not None
        return event

    async def collect(self, update: Callable[[Any], Any], request: Request) -> None:
        """Wait for the whole answer. A client that goes away frees its place."""
        watch = asyncio.ensure_future(_gone(request))
        try:
            while self.unfinished:
                event = asyncio.ensure_future(self._next())
                try:
                    await asyncio.wait({event, watch}, return_when=asyncio.FIRST_COMPLETED)
                    if not event.done():
                        raise HTTPException(499, "the client has gone")
                    update(event.result())
                finally:
                    event.cancel()
        finally:
            watch.cancel()
            self.batcher.cancel(self.job)

    def whole(self, choices: list[dict[str, Any]]) -> Response:
        self.measurements.count(self.prompt_tokens, self.tokens)
        return JSONResponse({**self.head, "choices": choices, "usage": answers.usage(self.prompt_tokens, self.tokens)})

    def stream(
        self, update: Callable[[Any], list[dict[str, Any]]], first: list[dict[str, Any]], with_usage: bool
    ) -> Response:
        """Server-sent events: a chunk for each piece of text, the usage if it was asked for, and [DONE]."""

        async def lines() -> AsyncIterator[str]:
            extra = {"usage": None} if with_usage else {}
            try:
                for chunk in first:
                    yield _event({**self.head, "choices": [chunk], **extra})
                while self.unfinished:
                    for chunk in update(await self._next()):
                        yield _event({**self.head, "choices": [chunk], **extra})
                if with_usage:
                    count = answers.usage(self.prompt_tokens, self.tokens)
                    yield _event({**self.head, "choices": [], "usage": count})
                yield "data: [DONE]\n\n"
            except GlasshouseError as error:
                yield _event(answers.error(str(error), "server_error"))
            except Exception as error:
                logging.getLogger("uvicorn.error").exception("a step failed")
                yield _event(answers.error(f"the server failed: {error}", "server_error"))
            finally:
                self.batcher.cancel(self.job)
                self.measurements.count(self.prompt_tokens, self.tokens)

        return StreamingResponse(lines(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


async def _gone(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
