"""Answers to requests for text, in the shapes of the OpenAI API: whole, or as a stream of server-sent events."""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from glasshouse.generation.engine import SampledToken
from glasshouse.serving.api_errors import error_body
from glasshouse.serving.batcher import Batcher, Event, Piece, PromptScores, TextJob
from glasshouse.serving.requests import ChatRequest, CompletionRequest, TextRequest
from glasshouse.serving.served_model import ServerMeasurements
from glasshouse.specs.errors import GlasshouseError
from glasshouse.tokenizers import Tokenizer

Body = dict[str, Any]


@dataclass
class Choice:
    """One text of an answer, as it grows."""

    index: int
    text: str = ""
    tokens: list[SampledToken | None] = field(default_factory=list)  # None: the first token of an echoed prompt
    finish: str | None = None

    @property
    def finish_reason(self) -> str | None:
        return "stop" if self.finish == "end" else self.finish


class TextAnswer(ABC):
    """An answer, from the events of a job.

    The events of a whole answer are held back until it is complete: otherwise every token would wake the event loop, and the
    thread that generates would wait for it.
    """

    prefix: str
    kind: str  # of the whole answer
    chunk_kind: str

    def __init__(
        self, body: TextRequest, job: TextJob, tokenizer: Tokenizer, batcher: Batcher, measurements: ServerMeasurements
    ) -> None:
        self.body, self.job, self.tokenizer = body, job, tokenizer
        self.batcher, self.measurements = batcher, measurements
        self.choices = [Choice(index) for index in range(len(job.prompts) * job.choices)]
        self.tokens = 0

    async def response(self, request: Request) -> Response:
        """Submit the job, and answer. A client that goes away frees its place."""
        self.arrivals: asyncio.Queue[list[Event]] = asyncio.Queue()
        self.began, self.first_token = time.monotonic(), 0.0
        loop, held, unfinished = asyncio.get_running_loop(), list[Event](), len(self.choices)

        def deliver(event: Event) -> None:
            nonlocal held, unfinished
            held.append(event)
            if isinstance(event, Piece):
                unfinished -= event.finish is not None
                self.first_token = self.first_token or time.monotonic()
            if self.body.stream or not unfinished or isinstance(event, Exception):
                with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
                    loop.call_soon_threadsafe(self.arrivals.put_nowait, held)
                held = []

        self.batcher.submit(self.job, deliver)
        if self.body.stream:
            return StreamingResponse(self._lines(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
        arrived, gone = asyncio.ensure_future(self._take_in()), asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({arrived, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not arrived.done():
                raise HTTPException(499, "the client has gone")
            arrived.result()
        finally:
            arrived.cancel()
            gone.cancel()
            self._end()
        return JSONResponse(
            {**self._head(self.kind), "choices": list(map(self.whole, self.choices)), "usage": self._usage()}
        )

    async def _lines(self) -> AsyncIterator[str]:
        """Server-sent events: a chunk for each piece of text, the usage if it was asked for, and [DONE]."""
        head = self._head(self.chunk_kind)
        with_usage = self.body.stream_options is not None and self.body.stream_options.include_usage
        extra = {"usage": None} if with_usage else {}
        try:
            for chunk in self.first_chunks():
                yield _line({**head, "choices": [chunk], **extra})
            while any(choice.finish is None for choice in self.choices):
                for chunk in await self._take_in():
                    yield _line({**head, "choices": [chunk], **extra})
            if with_usage:
                yield _line({**head, "choices": [], "usage": self._usage()})
            yield "data: [DONE]\n\n"
        except Exception as error:
            of_user = isinstance(error, GlasshouseError)
            if not of_user:
                logging.getLogger("uvicorn.error").exception("a step failed")
            yield _line(error_body(str(error) if of_user else f"the server failed: {error}"))
        finally:
            self._end()

    async def _take_in(self) -> list[Body]:
        """Wait for events, and return the chunks that a stream sends for them."""
        chunks: list[Body] = []
        for event in await self.arrivals.get():
            if isinstance(event, Exception):
                raise event
            if isinstance(event, Piece):
                if event.tokens and not self.tokens:
                    self.measurements.first_token.observe(self.first_token - self.began)
                self.tokens += len(event.tokens)
                self.choices[event.choice].finish = event.finish
            chunks += self.chunks(event)
        return chunks

    def _end(self) -> None:
        self.batcher.cancel(self.job)
        self.measurements.prompt_tokens.inc(self._usage()["prompt_tokens"])
        self.measurements.tokens.inc(self.tokens)

    def _head(self, kind: str) -> Body:
        name = f"{self.prefix}-{secrets.token_hex(12)}"
        return {"id": name, "object": kind, "created": int(time.time()), "model": self.body.model}

    def _usage(self) -> dict[str, int]:
        prompts = sum(map(len, self.job.prompts))
        return {"prompt_tokens": prompts, "completion_tokens": self.tokens, "total_tokens": prompts + self.tokens}

    @abstractmethod
    def first_chunks(self) -> list[Body]:
        """The chunks with which a stream begins."""

    @abstractmethod
    def chunks(self, event: PromptScores | Piece) -> list[Body]:
        """Take in an event; the chunks that a stream sends for it."""

    @abstractmethod
    def whole(self, choice: Choice) -> Body:
        """A choice of a whole answer."""


class CompletionAnswer(TextAnswer):
    """An answer of /v1/completions."""

    body: CompletionRequest
    prefix, kind, chunk_kind = "cmpl", "text_completion", "text_completion"

    async def response(self, request: Request) -> Response:
        if self.body.echo:
            for choice in self.choices:
                prompt = self.body.prompts[choice.index // self.job.choices]
                choice.text = prompt if isinstance(prompt, str) else self.tokenizer.decode(prompt)
        return await super().response(request)

    def first_chunks(self) -> list[Body]:
        return [self._chunk(each, each.text, []) for each in self.choices if self.body.echo and not self.job.score_prompts]

    def chunks(self, event: PromptScores | Piece) -> list[Body]:
        if isinstance(event, PromptScores):
            for choice in self.choices:
                choice.tokens = list(event.scores[choice.index // self.job.choices])
            return list(map(self.whole, self.choices))
        choice = self.choices[event.choice]
        # Who wants the numbers of tokens wants that of the end token too; in a text it has no place.
        end = [event.end] if event.end is not None and self.body.return_tokens_as_token_ids else []
        tokens, offset = [*event.tokens, *end], len(choice.text)
        choice.text += event.text
        choice.tokens += tokens
        return [self._chunk(choice, event.text, tokens, offset)]

    def whole(self, choice: Choice) -> Body:
        return self._chunk(choice, choice.text, choice.tokens)

    def _chunk(self, choice: Choice, text: str, tokens: Sequence[SampledToken | None], offset: int = 0) -> Body:
        shown = None if self.body.logprobs is None else self._log_probabilities(choice, tokens, offset)
        return {"index": choice.index, "text": text, "finish_reason": choice.finish_reason, "logprobs": shown}

    def _log_probabilities(self, choice: Choice, tokens: Sequence[SampledToken | None], offset: int) -> Body:
        """The first token of an echoed prompt has no log-probability."""
        first = self.job.prompts[choice.index // self.job.choices][0]
        numbers = [first if sampled is None else sampled.token for sampled in tokens]
        offsets = []
        for number in numbers:
            offsets.append(offset)
            offset += len(self.tokenizer.token_bytes(number).decode(errors="replace"))
        top = [None if sampled is None else self._top(sampled) for sampled in tokens]
        return {
            "tokens": list(map(self._shown, numbers)),
            "token_logprobs": [None if sampled is None else sampled.log_probability for sampled in tokens],
            "top_logprobs": top if self.body.logprobs else None,
            "text_offset": offsets,
        }

    def _top(self, sampled: SampledToken) -> dict[str, float]:
        """The most likely tokens, and the sampled one, which may not be among them. The likelier of equal texts."""
        top: dict[str, float] = {}
        for token, value in (*sampled.alternatives[: self.body.logprobs], (sampled.token, sampled.log_probability)):
            top.setdefault(self._shown(token), value)
        return top

    def _shown(self, token: int) -> str:
        """A token as text, or as a number, because two tokens may have the same text."""
        return f"token_id:{token}" if self.body.return_tokens_as_token_ids else token_text(self.tokenizer, token)


class ChatAnswer(TextAnswer):
    """An answer of /v1/chat/completions."""

    body: ChatRequest
    prefix, kind, chunk_kind = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def first_chunks(self) -> list[Body]:
        start = {"delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        return [{"index": choice.index, **start} for choice in self.choices]

    def chunks(self, event: PromptScores | Piece) -> list[Body]:
        assert isinstance(event, Piece)
        choice = self.choices[event.choice]
        text = event.text if choice.text else event.text.lstrip()
        choice.text += text
        choice.tokens += event.tokens
        return [self._choice(choice, "delta", {"content": text}, event.tokens)]

    def whole(self, choice: Choice) -> Body:
        return self._choice(choice, "message", {"role": "assistant", "content": choice.text, "refusal": None}, choice.tokens)

    def _choice(self, choice: Choice, name: str, said: Body, tokens: Sequence[SampledToken | None]) -> Body:
        shown = {"content": [self._log_probability(each) for each in tokens if each is not None], "refusal": None}
        return {
            "index": choice.index,
            name: said,
            "logprobs": shown if self.body.logprobs else None,
            "finish_reason": choice.finish_reason,
        }

    def _log_probability(self, sampled: SampledToken) -> Body:
        def entry(token: int, value: float) -> Body:
            raw = self.tokenizer.token_bytes(token)
            return {"token": token_text(self.tokenizer, token), "bytes": list(raw), "logprob": value}

        top = [entry(token, value) for token, value in sampled.alternatives[: self.job.alternatives]]
        return {**entry(sampled.token, sampled.log_probability), "top_logprobs": top}


def token_text(tokenizer: Tokenizer, token: int) -> str:
    """A token as text; bytes that are no whole character as `bytes:\\x..`, as the OpenAI API writes them."""
    try:
        raw = tokenizer.token_bytes(token)
        return raw.decode()
    except GlasshouseError:  # an id that no token has
        return f"token_id:{token}"
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


async def _gone(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _line(value: Body) -> str:
    return f"data: {json.dumps(value)}\n\n"
