"""The HTTP application: the OpenAI API over runs, a plain endpoint for classifiers and translators, metrics, and a page."""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from glasshouse.generation.sampling import Sampling
from glasshouse.generation.text_stream import encode_prompt
from glasshouse.generation.token_constraint import TokenConstraint
from glasshouse.llms.chat_template import render_chat
from glasshouse.llms.language_model import Message
from glasshouse.pages import playground_page
from glasshouse.runs.run import Run
from glasshouse.serving import answers
from glasshouse.serving.batcher import Batcher, Piece, PromptScores, QueueFull, TextJob, TimeLimit
from glasshouse.serving.guard import Guard
from glasshouse.serving.measurements import ServerMeasurements
from glasshouse.serving.requests import (
    MOST_TEXTS,
    ChatRequest,
    ClassifyRequest,
    CompletionRequest,
    DetokenizeRequest,
    EmbeddingRequest,
    TokenizeRequest,
    TranslateRequest,
)
from glasshouse.specs.errors import GlasshouseError
from glasshouse.version import __version__

STATUS_OF_ERRORS = {"queue-full": 429, "time-limit": 504, "server-stops": 503}
KINDS_OF_ERRORS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/json": {"schema": {"type": "object"}}}}
    for status, text in {
        400: "a bad request",
        401: "the key is missing or wrong",
        404: "no such model",
        413: "the body is too large",
        429: "too many requests are waiting",
        503: "the server is being stopped",
        504: "the request took too long",
    }.items()
}

# An answer with text is one object, or a stream of events.
STREAM: dict[int | str, dict[str, Any]] = {200: {"description": "the answer", "content": {"text/event-stream": {}}}}


@dataclass(frozen=True)
class ServerOptions:
    """The limits of a server. `raw` reports log-probabilities before the bias."""

    api_key: str | None = None
    most_concurrent: int = 32
    most_waiting: int = 256
    most_bytes: int = 2**20
    most_tokens: int = 4096
    seconds: float = 600.0
    raw: bool = False


class ServedModel:
    """A run behind the API. A language model has a batcher; the other kinds answer one request at a time."""

    def __init__(self, run: Run, options: ServerOptions) -> None:
        self.run, self.options = run, options
        self.created = int(run.folder.path.stat().st_mtime)
        self.lock, self.waiting = asyncio.Lock(), 0
        self.batcher: Batcher | None = None
        if run.continues_text:
            self.batcher = Batcher(run, options.most_concurrent, options.most_waiting, options.raw)

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
        paths = {"classify": "/v1/classify", "translate": "/v1/translate"}
        return "/v1/completions" if self.batcher else paths.get(self.run.spec.task, "/v1/embeddings")

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


def create_app(runs: Mapping[str, Run], options: ServerOptions | None = None) -> ASGIApp:
    """The application that serves these runs by their names."""
    options = options or ServerOptions()
    models = {name: ServedModel(run, options) for name, run in runs.items()}
    batchers = {name: model.batcher for name, model in models.items() if model.batcher is not None}
    measurements = ServerMeasurements(batchers)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for batcher in batchers.values():
            await anyio.to_thread.run_sync(batcher.stop, options.seconds)

    app = FastAPI(title="Glasshouse", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    _handle_errors(app)

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Whether the server answers, and how much it has to do."""
        return {
            "status": "ok",
            "active": sum(batcher.active for batcher in batchers.values()),
            "waiting": sum(batcher.waiting for batcher in batchers.values()),
        }

    @app.get("/metrics", response_class=PlainTextResponse, responses={401: ERRORS[401]})
    async def metrics() -> Response:
        """ServerMeasurements in the format of Prometheus."""
        return Response(measurements.text(), media_type="text/plain; version=0.0.4")

    @app.get("/", response_class=HTMLResponse, responses={401: ERRORS[401]})
    async def page() -> HTMLResponse:
        """A page to try the models."""
        others = [(name, model.path) for name, model in models.items() if model.batcher is None]
        return HTMLResponse(playground_page.render(list(batchers), others, options.most_tokens))

    @app.get("/v1/models", responses={401: ERRORS[401]})
    async def list_models() -> dict[str, Any]:
        """The models."""
        return {"object": "list", "data": [model.description for model in models.values()]}

    @app.get("/v1/models/{name:path}", responses={401: ERRORS[401], 404: ERRORS[404]})
    async def describe_model(name: str) -> dict[str, Any]:
        """One model."""
        return find(name).description

    def find(name: str) -> ServedModel:
        if name not in models:
            raise HTTPException(404, f"The model {name!r} does not exist; choose one of: {', '.join(models)}")
        return models[name]

    def language_model(name: str) -> tuple[ServedModel, Batcher]:
        model = find(name)
        if model.batcher is None:
            raise GlasshouseError(
                "not-a-language-model", f"{name} does not continue a text; use /v1/classify, /v1/translate or /v1/embeddings"
            )
        return model, model.batcher

    @app.post("/v1/completions", responses=STREAM | ERRORS)
    async def completions(body: CompletionRequest, request: Request) -> Response:
        """Continue texts."""
        model, batcher = language_model(body.model)
        tokenizer, context = model.run.tokenizer, model.run.spec.data.context
        texts, prompts = _prompts(body.prompt, tokenizer)
        count, echo = body.n or 1, bool(body.echo)
        if body.best_of not in (None, count):
            raise _bad("best_of", f"best_of={body.best_of} is not supported; leave it out, or choose n={count}")
        job = _job(body, prompts, context, tokenizer.vocabulary, options, 16 if body.max_tokens is None else body.max_tokens)
        job.alternatives = body.logprobs or 0
        job.constraint = await _constraint(body, model.run)
        job.score_prompts = echo and body.logprobs is not None
        head = answers.envelope("text_completion", body.model)
        choices = [answers.TextChoice(index) for index in range(len(prompts) * count)]
        for choice in choices if echo else ():
            choice.text, choice.first_token = texts[choice.index // count], prompts[choice.index // count][0]

        def chunk(choice: answers.TextChoice, text: str, tokens: list[Any], offset: int) -> dict[str, Any]:
            log_probabilities = None
            if body.logprobs is not None:
                log_probabilities = answers.completion_log_probabilities(
                    tokenizer, tokens, choice.first_token, body.logprobs, offset, bool(body.return_tokens_as_token_ids)
                )
            return {
                "index": choice.index,
                "text": text,
                "finish_reason": answers.FINISH_REASONS[choice.finish] if choice.finish else None,
                "logprobs": log_probabilities,
            }

        def update(event: Any) -> list[dict[str, Any]]:
            """Take in an event; the chunks that a stream sends for it."""
            if isinstance(event, PromptScores):
                for choice in choices:
                    choice.tokens = list(event.scores[choice.index // count])
                return [chunk(choice, choice.text, choice.tokens, 0) for choice in choices]
            choice = choices[event.choice]
            choice.finish, offset = event.finish, len(choice.text)
            choice.text += event.text
            # Who wants the numbers of tokens wants that of the end token too; in a text it has no place.
            end = [event.end] if event.end is not None and body.return_tokens_as_token_ids else []
            choice.tokens += [*event.tokens, *end]
            return [chunk(choice, event.text, [*event.tokens, *end], offset)]

        answer = _Answer(job, batcher, measurements, options, head, len(choices), sum(map(len, prompts)))
        if body.stream:
            first = [chunk(choice, choice.text, [], 0) for choice in choices] if echo and not job.score_prompts else []
            return answer.stream(update, first, bool(body.stream_options and body.stream_options.include_usage))
        await answer.collect(update, request)
        return answer.whole([chunk(choice, choice.text, choice.tokens, 0) for choice in choices])

    @app.post("/v1/chat/completions", responses=STREAM | ERRORS)
    async def chat(body: ChatRequest, request: Request) -> Response:
        """Answer a chat. A plain language model gets the chat as one text: "User: ...", then "Assistant:"."""
        model, batcher = language_model(body.model)
        tokenizer, context = model.run.tokenizer, model.run.spec.data.context
        messages = [Message("system" if m.role == "developer" else m.role, m.text) for m in body.messages]
        prompt, template_stops = render_chat(messages)
        prompts = [encode_prompt(tokenizer, prompt)]
        if body.top_logprobs and not body.logprobs:
            raise _bad("top_logprobs", f"top_logprobs={body.top_logprobs} needs logprobs; set logprobs to true")
        asked = body.max_completion_tokens or body.max_tokens
        most = asked or max(min(context - len(prompts[0]), options.most_tokens), 1)
        job = _job(body, prompts, context, tokenizer.vocabulary, options, most, template_stops)
        job.alternatives = body.top_logprobs or 0
        job.constraint = await _constraint(body, model.run)
        count = body.n or 1
        texts, tokens, finishes = [""] * count, [[] for _ in range(count)], [""] * count  # type: ignore[var-annotated]

        def log_probabilities(sampled: Any) -> dict[str, Any] | None:
            return answers.chat_log_probabilities(tokenizer, sampled, job.alternatives) if body.logprobs else None

        def update(event: Piece) -> list[dict[str, Any]]:
            index = event.choice
            text = event.text if texts[index] else event.text.lstrip()
            texts[index] += text
            tokens[index] += event.tokens
            finishes[index] = event.finish or ""
            return [
                {
                    "index": index,
                    "delta": {"content": text},
                    "logprobs": log_probabilities(event.tokens),
                    "finish_reason": answers.FINISH_REASONS[event.finish] if event.finish else None,
                }
            ]

        kind = "chat.completion.chunk" if body.stream else "chat.completion"
        answer = _Answer(job, batcher, measurements, options, answers.envelope(kind, body.model), count, len(prompts[0]))
        if body.stream:
            first = [
                {"index": index, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
                for index in range(count)
            ]
            return answer.stream(update, first, bool(body.stream_options and body.stream_options.include_usage))
        await answer.collect(update, request)
        return answer.whole(
            [
                {
                    "index": index,
                    "message": {"role": "assistant", "content": texts[index], "refusal": None},
                    "logprobs": log_probabilities(tokens[index]),
                    "finish_reason": answers.FINISH_REASONS[finishes[index]],
                }
                for index in range(count)
            ]
        )

    @app.post("/v1/tokenize", responses=ERRORS)
    async def tokenize(body: TokenizeRequest) -> dict[str, Any]:
        """The tokens of a text, as a prompt has them."""
        tokens = encode_prompt(find(body.model).run.tokenizer, body.prompt)
        return {"tokens": tokens, "count": len(tokens)}

    @app.post("/v1/detokenize", responses=ERRORS)
    async def detokenize(body: DetokenizeRequest) -> dict[str, Any]:
        """The text of tokens."""
        tokenizer = find(body.model).run.tokenizer
        if beyond := [token for token in body.tokens if token >= tokenizer.vocabulary]:
            raise _bad("tokens", f"token {beyond[0]} is not in the vocabulary; choose tokens below {tokenizer.vocabulary}")
        return {"prompt": tokenizer.decode(body.tokens)}

    @app.post("/v1/embeddings", responses=ERRORS)
    async def embeddings(body: EmbeddingRequest) -> dict[str, Any]:
        """One vector for each text, from an encoder."""
        run, texts = find(body.model).run, _texts(body.input)
        vectors = await find(body.model).call(lambda: run.embed(texts).float().cpu().tolist())
        count = sum(len(run.tokenizer.encode(text, specials=False)) for text in texts)
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": index, "embedding": answers.vector(each, body.encoding_format or "float")}
                for index, each in enumerate(vectors)
            ],
            "model": body.model,
            "usage": {"prompt_tokens": count, "total_tokens": count},
        }

    @app.post("/v1/classify", responses=ERRORS)
    async def classify(body: ClassifyRequest) -> dict[str, Any]:
        """The probability of each class for each text, from a classifier."""
        model, texts = find(body.model), _texts(body.input)
        rows = await model.call(lambda: model.run.classify(texts))
        data = [{"index": index, "label": next(iter(row)), "probabilities": row} for index, row in enumerate(rows)]
        return {"object": "list", "data": data, "model": body.model}

    @app.post("/v1/translate", responses=ERRORS)
    async def translate(body: TranslateRequest) -> dict[str, Any]:
        """The best translation of each text, from a translator."""
        model, texts = find(body.model), _texts(body.input)
        rows = await model.call(lambda: model.run.translate(texts, beams=body.beams))
        data = [
            {"index": index, "text": row[0].text, "score": row[0].score, "truncated": row[0].truncated}
            for index, row in enumerate(rows)
        ]
        return {"object": "list", "data": data, "model": body.model}

    plain_description = app.openapi

    def description() -> dict[str, Any]:
        """The description of the API; it names the models."""
        described = plain_description()
        for schema in described["components"]["schemas"].values():
            if "model" in schema.get("properties", {}):
                schema["properties"]["model"]["enum"] = list(models)
        return described

    app.openapi = description  # type: ignore[method-assign]
    return Guard(app, options.api_key, options.most_bytes, measurements)


class _Answer:
    """The answer to a request for text: whole, or as a stream of chunks."""

    def __init__(
        self,
        job: TextJob,
        batcher: Batcher,
        measurements: ServerMeasurements,
        options: ServerOptions,
        head: dict[str, Any],
        choices: int,
        prompt_tokens: int,
    ) -> None:
        self.job, self.batcher, self.measurements, self.head = job, batcher, measurements, head
        self.unfinished, self.prompt_tokens, self.tokens, self.first = choices, prompt_tokens, 0, True
        self.began = time.monotonic()
        self.events: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def deliver(event: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
                loop.call_soon_threadsafe(self.events.put_nowait, event)

        job.deliver = deliver
        job.deadline, job.limit = self.began + options.seconds, options.seconds
        batcher.submit(job)

    async def _next(self) -> Any:
        """The next event."""
        event = await self.events.get()
        if isinstance(event, Exception):
            raise event
        if isinstance(event, Piece):
            if self.first and event.tokens:
                self.first = False
                self.measurements.first_token.observe(time.monotonic() - self.began)
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
                yield _event(answers.error(str(error), "server_error", code=error.code))
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


def _job(
    body: Any,
    prompts: list[list[int]],
    context: int,
    vocabulary: int,
    options: ServerOptions,
    most: int,
    stops: tuple[str, ...] = (),
) -> TextJob:
    """The job of a request. Raises GlasshouseError for what the shapes of requests cannot rule out."""
    for prompt in prompts:
        if len(prompt) > context:
            raise _bad(
                "prompt",
                f"the prompt has {len(prompt)} tokens, but the context of this model is {context}; shorten it",
                "context_length_exceeded",
            )
        if beyond := [token for token in prompt if token >= vocabulary]:
            raise _bad("prompt", f"token {beyond[0]} is not in the vocabulary; choose tokens below {vocabulary}")
    if most > options.most_tokens:
        raise _bad(
            "max_tokens", f"max_tokens={most} is above the limit of this server; choose {options.most_tokens} or less"
        )
    if len(prompts) * (body.n or 1) > MOST_TEXTS:
        raise _bad("n", f"n={body.n} for {len(prompts)} prompts makes more than {MOST_TEXTS} texts; ask for fewer at a time")
    bias = {}
    for key, value in (body.logit_bias or {}).items():
        if not (key.isascii() and key.isdigit() and len(key) < 12 and int(key) < vocabulary):
            raise _bad("logit_bias", f"logit_bias has the key {key!r}; choose token ids below {vocabulary}")
        bias[int(key)] = value
    own = [body.stop] if isinstance(body.stop, str) else body.stop or []
    sampling = Sampling(
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        temperature=1.0 if body.temperature is None else body.temperature,
        top_k=body.top_k or 0,
        top_p=1.0 if body.top_p is None else body.top_p,
        seed=secrets.randbits(62) if body.seed is None else body.seed % 2**63,
    )
    return TextJob(prompts, sampling, most, print, body.n or 1, (*own, *stops), bias=bias)


async def _constraint(body: Any, run: Run) -> TokenConstraint | None:
    """The form that the text must have."""
    wanted, schema = body.response_format, None
    if wanted is not None and wanted.type == "json_schema":
        if wanted.json_schema is None:
            raise _bad("response_format", "a response_format of type 'json_schema' needs the field json_schema; add it")
        schema = wanted.json_schema.given
    elif wanted is not None and wanted.type == "json_object":
        schema = {"type": "object"}
    if schema is None and body.regex is None:
        return None
    return await anyio.to_thread.run_sync(run.constraint, body.regex, schema)


def _prompts(prompt: Any, tokenizer: Any) -> tuple[list[str], list[list[int]]]:
    """The prompts of a request as texts and as tokens."""
    if isinstance(prompt, str) or (prompt and isinstance(prompt[0], int)):
        prompt = [prompt]
    tokens = [encode_prompt(tokenizer, each) if isinstance(each, str) else list(each) for each in prompt]
    texts = []
    for each, ids in zip(prompt, tokens, strict=True):
        known = all(token < tokenizer.vocabulary for token in ids)
        texts.append(each if isinstance(each, str) else tokenizer.decode(ids) if known else "")
    return texts, tokens


def _texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


class _BadRequest(GlasshouseError):
    """A bad value of a field."""

    def __init__(self, field: str, message: str, kind: str) -> None:
        super().__init__(kind, message)
        self.field = field


def _bad(field: str, message: str, kind: str = "invalid_value") -> GlasshouseError:
    return _BadRequest(field, message, kind)


def _handle_errors(app: FastAPI) -> None:
    """Errors in the shape of the OpenAI API."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = next((part for part in first["loc"][1:2] if isinstance(part, str)), None)
        return JSONResponse(answers.error(f"{field or 'the body'}: {first['msg']}", param=field, code="invalid_value"), 400)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse(answers.error(f"the server failed: {error}", "server_error"), 500)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        kind = KINDS_OF_ERRORS.get(error.status_code, "invalid_request_error")
        code = "model_not_found" if error.status_code == 404 and "model" in str(error.detail) else None
        return JSONResponse(answers.error(str(error.detail), kind, code=code), error.status_code, headers=error.headers)

    @app.exception_handler(GlasshouseError)
    async def wrong(request: Request, error: GlasshouseError) -> JSONResponse:
        status = STATUS_OF_ERRORS.get(error.code, 400)
        kind = KINDS_OF_ERRORS.get(status, "invalid_request_error" if status == 400 else "server_error")
        headers = {"Retry-After": "1"} if status == 429 else None
        field = getattr(error, "field", None)
        return JSONResponse(answers.error(str(error), kind, field, error.code), status, headers=headers)
