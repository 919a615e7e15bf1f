"""The HTTP application: the endpoints of the OpenAI API over runs, those for other kinds of runs, and a page."""

import base64
import contextlib
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from glasshouse.generation.text_stream import encode_prompt
from glasshouse.runs.run import Run, Translation
from glasshouse.serving.api_errors import ERRORS, handle_errors
from glasshouse.serving.guards import Guard
from glasshouse.serving.requests import (
    ChatRequest,
    ClassifyRequest,
    CompletionRequest,
    DetokenizeRequest,
    EmbeddingRequest,
    TokenizeRequest,
    TranslateRequest,
    check_tokens,
)
from glasshouse.serving.served_model import ServedModel, ServerMeasurements, ServerOptions
from glasshouse.serving.text_answers import ChatAnswer, CompletionAnswer, TextAnswer
from glasshouse.specs.errors import GlasshouseError
from glasshouse.version import __version__

# An answer with text is one object, or a stream of events.
STREAM: dict[int | str, dict[str, Any]] = {200: {"description": "the answer", "content": {"text/event-stream": {}}}}
# Names of the models that continue texts, names of the others with their endpoints, and the most tokens -> a page.
Page = Callable[[Sequence[str], Sequence[tuple[str, str]], int], str]


def create_app(runs: Mapping[str, Run], options: ServerOptions, page: Page | None = None) -> ASGIApp:
    """The application that serves these runs by their names. `page` draws the page to try the models."""
    models = {name: ServedModel(run, options) for name, run in runs.items()}
    batchers = {name: model.batcher for name, model in models.items() if model.batcher is not None}
    measurements = ServerMeasurements(batchers)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        for batcher in batchers.values():
            await anyio.to_thread.run_sync(batcher.stop, options.seconds)

    app = FastAPI(title="Glasshouse", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    handle_errors(app)

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

    if page is not None:

        @app.get("/", response_class=HTMLResponse, responses={401: ERRORS[401]})
        async def index() -> HTMLResponse:
            """A page to try the models."""
            others = [(name, model.path) for name, model in models.items() if model.batcher is None]
            return HTMLResponse(page(list(batchers), others, options.most_tokens))

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

    async def text(kind: type[TextAnswer], body: CompletionRequest | ChatRequest, request: Request) -> Response:
        model = find(body.model)
        if model.batcher is None:
            raise GlasshouseError(f"{body.model} does not continue a text; use {model.path}")
        job = await body.job(model.run, options)
        return await kind(body, job, model.run.tokenizer, model.batcher, measurements).response(request)

    @app.post("/v1/completions", responses=STREAM | ERRORS)
    async def completions(body: CompletionRequest, request: Request) -> Response:
        """Continue texts."""
        return await text(CompletionAnswer, body, request)

    @app.post("/v1/chat/completions", responses=STREAM | ERRORS)
    async def chat(body: ChatRequest, request: Request) -> Response:
        """Answer a chat. A plain language model gets the chat as one text: "User: ...", then "Assistant:"."""
        return await text(ChatAnswer, body, request)

    @app.post("/v1/tokenize", responses=ERRORS)
    async def tokenize(body: TokenizeRequest) -> dict[str, Any]:
        """The tokens of a text, as a prompt has them."""
        tokens = encode_prompt(find(body.model).run.tokenizer, body.prompt)
        return {"tokens": tokens, "count": len(tokens)}

    @app.post("/v1/detokenize", responses=ERRORS)
    async def detokenize(body: DetokenizeRequest) -> dict[str, Any]:
        """The text of tokens."""
        tokenizer = find(body.model).run.tokenizer
        check_tokens("tokens", body.tokens, tokenizer.vocabulary)
        return {"prompt": tokenizer.decode(body.tokens)}

    def rows(body: EmbeddingRequest | ClassifyRequest | TranslateRequest, data: list[dict[str, Any]]) -> dict[str, Any]:
        return {"object": "list", "data": [{"index": index, **row} for index, row in enumerate(data)], "model": body.model}

    @app.post("/v1/embeddings", responses=ERRORS)
    async def embeddings(body: EmbeddingRequest) -> dict[str, Any]:
        """One vector for each text, from an encoder."""
        model, texts = find(body.model), _texts(body.input)
        vectors = await model.call(lambda: model.run.embed(texts).float().cpu().tolist())
        count = sum(len(model.run.tokenizer.encode(text, specials=False)) for text in texts)
        if body.encoding_format == "base64":  # of little-endian float32
            vectors = [base64.b64encode(struct.pack(f"<{len(each)}f", *each)).decode() for each in vectors]
        data = [{"object": "embedding", "embedding": vector} for vector in vectors]
        return {**rows(body, data), "usage": {"prompt_tokens": count, "total_tokens": count}}

    @app.post("/v1/classify", responses=ERRORS)
    async def classify(body: ClassifyRequest) -> dict[str, Any]:
        """What a run predicts for each text: its class or classes with their probabilities, its number, or its tags."""
        model, texts = find(body.model), _texts(body.input)
        second = None if body.second is None else _texts(body.second)
        return rows(body, await model.call(lambda: model.run.predict(texts, second)))

    @app.post("/v1/translate", responses=ERRORS)
    async def translate(body: TranslateRequest) -> dict[str, Any]:
        """The best translation of each text, from a translator."""
        model, texts = find(body.model), _texts(body.input)
        given = [text for text in texts if text.strip()]
        found = iter(await model.call(lambda: model.run.translate(given, beams=body.beams)))
        # An empty text has no translation.
        best = [next(found)[0] if text.strip() else Translation("", 0.0, False) for text in texts]
        return rows(body, list(map(asdict, best)))

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


def _texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given
